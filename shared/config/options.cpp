#include "shared/config/options.h"

#include <algorithm>
#include <ostream>

#include "shared/base/duration.h"
#include "shared/base/file.h"
#include "shared/base/strings.h"

namespace nobs::config {
namespace {

constexpr size_t kMaxFile = 1 << 20;
constexpr const char* kConfigVariable = "NOBS_CONFIG";

std::string quoted(std::string_view text) { return "\"" + printable(text, 80) + "\""; }

Result<std::int64_t> whole_number(std::string_view text) {
  const bool minus = !text.empty() && text[0] == '-';
  const auto magnitude = parse_u64(text.substr(minus ? 1 : 0));
  if (!magnitude || *magnitude > static_cast<std::uint64_t>(INT64_MAX)) {
    return invalid("not a whole number: " + quoted(text));
  }
  const auto value = static_cast<std::int64_t>(*magnitude);
  return minus ? -value : value;
}

}  // namespace

Binder::Option& Binder::Option::env(std::string name) {
  env_ = std::move(name);
  return *this;
}

Binder::Option& Binder::Option::secret() {
  secret_ = true;
  return *this;
}

Binder::Binder(std::string program, std::string purpose)
    : program_(std::move(program)), purpose_(std::move(purpose)) {}

Binder::Option& Binder::add(std::string key, std::string help, std::string accepted) {
  Option option;
  option.key_ = std::move(key);
  option.help_ = std::move(help);
  option.accepted_ = std::move(accepted);
  options_.push_back(std::move(option));
  origins_.emplace_back("default");
  return options_.back();
}

Binder::Option& Binder::text(std::string key, std::string& target, std::string help) {
  Option& option = add(std::move(key), std::move(help), "TEXT");
  option.is_text_ = true;
  option.parse_ = [&target](std::string_view text) -> Result<void> {
    target = text;
    return {};
  };
  option.print_ = [&target] { return json::dump(target); };
  option.default_ = option.print_();
  return option;
}

Binder::Option& Binder::choice(std::string key, std::string& target, std::string help,
                               std::vector<std::string> accepted) {
  Option& option = text(std::move(key), target, std::move(help));
  option.accepted_ = join(accepted, "|");
  option.parse_ = [&target, accepted = std::move(accepted)](std::string_view text) -> Result<void> {
    if (std::find(accepted.begin(), accepted.end(), text) == accepted.end()) {
      const auto close = nearest(text, accepted);
      return invalid("unknown value " + quoted(text) +
                     (close ? "; did you mean " + *close + "?" : ""));
    }
    target = text;
    return {};
  };
  return option;
}

Binder::Option& Binder::flag(std::string key, bool& target, std::string help) {
  Option& option = add(std::move(key), std::move(help), "true|false");
  option.is_flag_ = true;
  option.parse_ = [&target](std::string_view text) -> Result<void> {
    const std::string word = lower(text);
    if (word != "true" && word != "false")
      return invalid("neither true nor false: " + quoted(text));
    target = word == "true";
    return {};
  };
  option.print_ = [&target] { return std::string(target ? "true" : "false"); };
  option.default_ = option.print_();
  return option;
}

Binder::Option& Binder::integer(std::string key, std::int64_t& target, std::string help,
                                std::int64_t min, std::int64_t max) {
  Option& option =
      add(std::move(key), std::move(help), std::to_string(min) + " to " + std::to_string(max));
  option.parse_ = [&target, min, max](std::string_view text) -> Result<void> {
    const auto value = whole_number(text);
    if (!value) return value.error();
    if (*value < min || *value > max) return invalid(quoted(text) + " is out of range");
    target = *value;
    return {};
  };
  option.print_ = [&target] { return std::to_string(target); };
  option.default_ = option.print_();
  return option;
}

Binder::Option& Binder::duration(std::string key, std::chrono::nanoseconds& target,
                                 std::string help, std::chrono::nanoseconds min,
                                 std::chrono::nanoseconds max) {
  Option& option =
      add(std::move(key), std::move(help), format_duration(min) + " to " + format_duration(max));
  option.parse_ = [&target, min, max](std::string_view text) -> Result<void> {
    const auto value = parse_duration(text);
    if (!value) return value.error();
    if (*value < min || *value > max) return invalid(quoted(text) + " is out of range");
    target = *value;
    return {};
  };
  option.print_ = [&target] { return format_duration(target); };
  option.default_ = option.print_();
  return option;
}

void Binder::example(std::string command_line) { examples_.push_back(std::move(command_line)); }

std::optional<size_t> Binder::find(std::string_view key) const {
  for (size_t i = 0; i < options_.size(); ++i) {
    if (options_[i].key_ == key) return i;
  }
  return std::nullopt;
}

bool Binder::is_section(const std::string& key) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const Option& o) { return o.key_.starts_with(key + "."); });
}

std::string Binder::hint(const std::string& key) const {
  std::vector<std::string> known;
  for (const auto& option : options_) {
    known.push_back(option.key_);
    for (size_t dot = option.key_.find('.'); dot != std::string::npos;
         dot = option.key_.find('.', dot + 1)) {
      known.push_back(option.key_.substr(0, dot));
    }
  }
  const auto close = nearest(key, known);
  return close ? "; did you mean " + *close + "?" : "";
}

void Binder::assign(size_t option, std::string_view value, const std::string& place,
                    Loaded& loaded) {
  const auto parsed = options_[option].parse_(value);
  if (!parsed) {
    loaded.mistakes.push_back(place + ": " + parsed.error().message +
                              "; accepted: " + options_[option].accepted_);
    return;
  }
  origins_[option] = place;
}

void Binder::take_yaml(size_t option, const json::Value& value, const std::string& path,
                       Loaded& loaded) {
  const Option& known = options_[option];
  const std::string place = path + ": " + known.key_;
  if (value.is_null()) return;  // `key:` alone: the default stays
  if (value.is_array() || value.is_object()) {
    loaded.mistakes.push_back(place + ": one value is wanted, not a " +
                              (value.is_array() ? "list" : "section") +
                              "; accepted: " + known.accepted_);
  } else if (const auto* text = value.if_string()) {
    assign(option, *text, place, loaded);
  } else if (known.is_text_) {
    loaded.mistakes.push_back(place + ": text is wanted, not " + json::dump(value) +
                              "; put it in quotes; accepted: " + known.accepted_);
  } else {
    assign(option, json::dump(value), place, loaded);
  }
}

void Binder::walk_yaml(const json::Value& value, const std::string& prefix, const std::string& path,
                       Loaded& loaded) {
  for (const auto& [name, member] : value.members()) {
    const std::string key = prefix + name;
    if (const auto option = find(key)) {
      take_yaml(*option, member, path, loaded);
    } else if (!is_section(key)) {
      loaded.warnings.push_back(path + ": unknown key " + printable(key, 80) + hint(key));
    } else if (member.is_object()) {
      walk_yaml(member, key + ".", path, loaded);
    } else if (!member.is_null()) {
      loaded.mistakes.push_back(path + ": " + key +
                                ": a section is wanted; accepted: keys such as " + key + ".…");
    }
  }
}

void Binder::read_yaml(const std::string& path, Loaded& loaded) {
  const auto text = read_file(path, kMaxFile);
  if (!text) {
    loaded.mistakes.push_back("configuration file: " + text.error().message);
    return;
  }
  const auto document = parse_yaml(*text);
  if (!document) {
    loaded.mistakes.push_back(path + ": " + document.error().message);
  } else if (!document->is_null() && !document->is_object()) {
    loaded.mistakes.push_back(path + ": keys and values are wanted at the top");
  } else {
    walk_yaml(*document, "", path, loaded);
  }
}

Loaded Binder::load(int argc, const char* const* argv,
                    const std::function<const char*(const char*)>& get_env) {
  struct Flag {
    size_t option;
    std::string key, value;
  };
  Loaded loaded;
  std::vector<Flag> flags;
  const char* from_env = get_env(kConfigVariable);
  std::string file = from_env ? from_env : "";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      loaded.wants_help = true;
      continue;
    }
    if (argument == "--check-config") {
      loaded.wants_check = true;
      continue;
    }
    if (argument == "--print-config") {
      loaded.wants_config = true;
      continue;
    }
    const size_t equals = argument.find('=');
    if (!argument.starts_with("--")) {
      loaded.mistakes.push_back("unexpected argument " + quoted(argument) +
                                "; accepted: --key=value or --key value");
      continue;
    }
    const std::string key = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const auto option = find(key);
    if (!option && key != "config") {
      loaded.mistakes.push_back("unknown flag --" + printable(key, 80) + hint(key) +
                                "; --help lists all");
      continue;
    }
    std::string value = "true";
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (!option || !options_[*option].is_flag_) {
      if (i + 1 >= argc || std::string_view(argv[i + 1]).starts_with("--")) {
        loaded.mistakes.push_back("flag --" + key + ": a value is missing; accepted: " +
                                  (option ? options_[*option].accepted_ : "FILE"));
        continue;
      }
      value = argv[++i];
    }
    if (option) {
      flags.push_back({*option, key, value});
    } else {
      file = value;
    }
  }
  if (!file.empty()) read_yaml(file, loaded);
  for (size_t i = 0; i < options_.size(); ++i) {
    const std::string& name = options_[i].env_;
    const char* value = name.empty() ? nullptr : get_env(name.c_str());
    if (value && *value) assign(i, value, "variable " + name, loaded);
  }
  for (const auto& [option, key, value] : flags) assign(option, value, "flag --" + key, loaded);
  return loaded;
}

std::string Binder::shown(size_t option) const {
  const std::string text = options_[option].print_();
  return options_[option].secret_ && text != "\"\"" ? "\"***\"" : text;
}

std::string Binder::help() const {
  std::string text =
      program_ + ": " + purpose_ + "\n\nUsage: " + program_ +
      " [--config FILE] [--key=value | --key value]...\n\n" +
      "Options, each also a key of the YAML file (a.b is b in the section a). A flag "
      "wins over a variable,\na variable over the file, the file over the default.\n";
  for (const auto& option : options_) {
    const bool hidden = option.secret_ && option.default_ != "\"\"";
    text += "\n  --" + option.key_ + "=" + option.accepted_ + "\n      " + option.help_ +
            "; default " + (hidden ? "***" : option.default_) +
            (option.env_.empty() ? "" : "; variable " + option.env_) + "\n";
  }
  text +=
      std::string("\n  --config=FILE\n      the YAML file; variable ") + kConfigVariable +
      "\n\n  --print-config\n      print the options as YAML, with where each came from, and "
      "exit\n\n  --check-config\n      only say what is wrong with the options; exit code 0 when "
      "nothing is, else 3\n\n  --help\n      print this and exit\n";
  if (!examples_.empty()) text += "\nExamples:\n";
  for (const auto& line : examples_) text += "  " + line + "\n";
  return text;
}

std::string Binder::printed() const {
  std::vector<size_t> order(options_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return options_[a].key_ < options_[b].key_; });
  std::string text;
  std::vector<std::string_view> open;  // the sections we are in
  for (const size_t i : order) {
    auto path = split(options_[i].key_, '.');
    const std::string_view name = path.back();
    path.pop_back();
    size_t shared = 0;
    while (shared < open.size() && shared < path.size() && open[shared] == path[shared]) ++shared;
    for (size_t level = shared; level < path.size(); ++level) {
      text += std::string(level * 2, ' ') + std::string(path[level]) + ":\n";
    }
    text += std::string(path.size() * 2, ' ') + std::string(name) + ": " + shown(i) + "  # " +
            printable(origins_[i], 200) + "\n";
    open = std::move(path);
  }
  return text;
}

std::optional<int> Binder::report(const Loaded& loaded, std::ostream& out,
                                  std::ostream& err) const {
  if (loaded.wants_help) {
    out << help();
    return 0;
  }
  for (const auto& warning : loaded.warnings) err << "warning: " << warning << "\n";
  for (const auto& mistake : loaded.mistakes) err << "error: " << mistake << "\n";
  if (loaded.wants_config) out << printed();
  if (!loaded.mistakes.empty()) return 3;
  if (loaded.wants_check) out << "the configuration is valid\n";
  return loaded.wants_check || loaded.wants_config ? std::optional(0) : std::nullopt;
}

}  // namespace nobs::config
