#include "agent/nobs/arguments.h"

#include <algorithm>
#include <functional>
#include <map>

#include "agent/nobs/help.h"
#include "shared/base/duration.h"
#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

using Take = std::function<Result<void>(Arguments&, const std::string& value)>;

Error usage(const std::string& message) { return invalid(message); }

std::string quoted(std::string_view text) { return '"' + printable(text, 60) + '"'; }

Take text(std::string Arguments::*member, bool Arguments::*given = nullptr) {
  return [=](Arguments& arguments, const std::string& value) -> Result<void> {
    arguments.*member = value;
    if (given != nullptr) arguments.*given = true;
    return {};
  };
}

Take duration(std::chrono::nanoseconds Arguments::*member) {
  return [=](Arguments& arguments, const std::string& value) -> Result<void> {
    const auto parsed = parse_duration(value);
    if (!parsed || *parsed < std::chrono::milliseconds(100) || *parsed > std::chrono::hours(1))
      return usage(quoted(value) + " is not a duration from 100ms to 1h, such as 5s");
    arguments.*member = *parsed;
    return {};
  };
}

Result<void> take_format(Arguments& arguments, const std::string& value) {
  const std::map<std::string, Format> formats = {{"table", Format::Table},
                                                 {"wide", Format::Wide},
                                                 {"json", Format::Json},
                                                 {"yaml", Format::Yaml}};
  const auto found = formats.find(value);
  if (found == formats.end())
    return usage(quoted(value) + " is no output; accepted are: json, yaml, wide, table");
  arguments.format = found->second;
  return {};
}

Result<void> take_device(Arguments& arguments, const std::string& value) {
  const auto number = parse_u64(value.starts_with("neuron") ? value.substr(6) : value);
  if (!number || *number > 255)
    return usage(quoted(value) + " is no device; accepted is an index from 0 to 255");
  arguments.device = static_cast<int>(*number);
  return {};
}

const std::map<std::string, Take>& value_options() {
  static const std::map<std::string, Take> options = {
      {"-o", take_format},
      {"--output", take_format},
      {"--socket", text(&Arguments::socket, &Arguments::names_socket)},
      {"--address", text(&Arguments::address, &Arguments::names_address)},
      {"--token-file", text(&Arguments::token_file)},
      {"--device", take_device},
      {"--class", text(&Arguments::fault_class)},
      {"--severity", text(&Arguments::severity)},
      {"--timeout", duration(&Arguments::timeout)},
      {"--interval", duration(&Arguments::interval)},
  };
  return options;
}

std::string hint(const std::string& word, const std::vector<std::string>& known) {
  const auto near = nearest(word, known);
  return near ? "; did you mean " + *near + "?" : "";
}

Result<void> check_words(Arguments& arguments) {
  const auto commands = command_names();
  if (arguments.command.empty()) return {};
  if (std::find(commands.begin(), commands.end(), arguments.command) == commands.end())
    return usage("there is no command " + quoted(arguments.command) +
                 hint(arguments.command, commands) + "\ncommands: " + join(commands, ", "));
  const size_t most = arguments.command == "devices" || arguments.command == "metrics" ||
                              arguments.command == "completion" || arguments.command == "help"
                          ? 1
                          : 0;
  if (arguments.words.size() > most)
    return usage("nobs " + arguments.command + ": " + quoted(arguments.words[most]) +
                 " is one word too many");
  if (arguments.command == "devices" && !arguments.words.empty())
    return take_device(arguments, arguments.words[0]);
  if (arguments.watch && (arguments.command == "completion" || arguments.command == "metrics"))
    return usage("nobs " + arguments.command + ": --watch is not for this command");
  return {};
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& given) {
  Arguments arguments;
  for (size_t i = 0; i < given.size(); ++i) {
    std::string word = given[i];
    if (!word.starts_with('-') || word == "-") {
      if (arguments.command.empty()) {
        arguments.command = word;
      } else {
        arguments.words.push_back(word);
      }
      continue;
    }
    if (word == "-h" || word == "--help") {
      arguments.wants_help = true;
    } else if (word == "--version") {
      arguments.wants_version = true;
    } else if (word == "-w" || word == "--watch") {
      arguments.watch = true;
    } else {
      std::optional<std::string> value;
      const size_t equals = word.find('=');
      if (word.starts_with("--") && equals != std::string::npos) {
        value = word.substr(equals + 1);
        word.resize(equals);
      } else if (word.starts_with("-o") && word.size() > 2) {  // -ojson, -o=json
        value = word.substr(word[2] == '=' ? 3 : 2);
        word.resize(2);
      }
      const auto option = value_options().find(word);
      if (option == value_options().end()) {
        std::vector<std::string> known = {"--help", "--version", "--watch"};
        for (const auto& [name, take] : value_options()) known.push_back(name);
        return usage("there is no option " + quoted(word) + hint(word, known));
      }
      if (!value) {
        if (i + 1 == given.size()) return usage(word + " needs a value");
        value = given[++i];
      }
      if (auto taken = option->second(arguments, *value); !taken)
        return usage(word + ": " + taken.error().message);
    }
  }
  if (auto checked = check_words(arguments); !checked) return checked.error();
  if (auto address = parse_address(arguments.address); !address) return address.error();
  return arguments;
}

Result<Address> parse_address(std::string_view text) {
  const std::string shown = quoted(text);
  if (text.starts_with("https://"))
    return usage("--address: " + shown + ": the agent speaks http, not https");
  if (text.starts_with("http://")) text.remove_prefix(7);
  if (text.ends_with('/')) text.remove_suffix(1);
  Address address;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end != std::string_view::npos) {  // else the host stays empty: refused below
      address.host = text.substr(1, end - 1);
      rest = text.substr(end + 1);
    }
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    address.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  const auto port = rest.empty()            ? std::optional<std::uint64_t>(7001)
                    : rest.starts_with(':') ? parse_u64(rest.substr(1))
                                            : std::nullopt;
  const bool is_name =
      !address.host.empty() && std::all_of(address.host.begin(), address.host.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ||
               c == ':' || c == '_';
      });
  if (!is_name || !port || *port == 0 || *port > 65'535)
    return usage("--address: " + shown + "; accepted is http://HOST:PORT");
  address.port = static_cast<int>(*port);
  return address;
}

}  // namespace nobs::cli
