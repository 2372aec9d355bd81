#include "agent/nobs/commands.h"

#include <unistd.h>

#include <cstdio>

#include "agent/nobs/agent.h"
#include "agent/nobs/metrics_view.h"
#include "agent/nobs/sse.h"
#include "agent/nobs/terminal.h"
#include "agent/nobs/top.h"
#include "agent/nobs/views.h"
#include "agent/nobs/yaml.h"
#include "shared/base/strings.h"

namespace nobs::cli {
namespace {

using json::Value;
using std::chrono::seconds;

constexpr seconds kPoll{30};

// A command that shows one answer: where it is, as what, and what it means.
struct Question {
  std::string target;
  std::function<std::string(const Value&, const View&)> text;  // none: JSON
  std::function<int(const Value&)> code;
};

View view_of(const Arguments& arguments) {
  const bool wide = arguments.format == Format::Wide;
  const size_t width = output_is_terminal() ? output_size().width : 80;
  SystemClock clock;
  return {{wide ? 0 : width, wants_colours()}, clock.now(), wide};
}

bool is_table(const Question& question, const Arguments& arguments) {
  return question.text && (arguments.format == Format::Table || arguments.format == Format::Wide);
}

std::string rendered(const Question& question, const Value& answer, const Arguments& arguments,
                     const View& view) {
  if (is_table(question, arguments)) return question.text(answer, view);
  if (arguments.format == Format::Yaml)
    return clean_json((arguments.watch ? "---\n" : "") + to_yaml(answer));
  return clean_json(arguments.watch ? json::dump(answer) : json::dump_pretty(answer)) + "\n";
}

int say(const Error& error) {
  if (!error.is_stopped()) std::fprintf(stderr, "nobs: %s\n", error.message.c_str());
  return exit_code(error);
}

std::string fault_query(const Arguments& arguments) {
  std::string query;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      query += (query.empty() ? "?" : "&") + (name + ("=" + percent_encode(value)));
  };
  add("device", arguments.device ? std::to_string(*arguments.device) : "");
  add("class", arguments.fault_class);
  add("severity", arguments.severity);
  return query;
}

// /devices/3 as a list of one, where a table is wanted.
Value as_list(const Value& device) {
  return device["items"].is_array() ? device : json::object({{"items", json::array({device})}});
}

Question question_of(const Arguments& arguments) {
  const std::string root(kRoot);
  const std::string device = arguments.device ? std::to_string(*arguments.device) : "";
  if (arguments.command == "devices") {
    return {
        root + "/devices" + (device.empty() ? "" : "/" + device),
        [](const Value& answer, const View& view) { return devices_text(as_list(answer), view); },
        [](const Value& answer) { return health_code(answer); }};
  }
  if (arguments.command == "faults")
    return {root + "/faults" + fault_query(arguments), faults_text, faults_code};
  const std::string of_device = device.empty() ? "" : "?device=" + device;
  if (arguments.command == "status") return {root + "/snapshot", status_text, health_code};
  return {root + "/snapshot" + of_device, {}, health_code};
}

// Until the agent has another version than `version`; a second where it does not wait for one.
void wait_for_news(Agent& agent, const std::optional<std::int64_t>& version, SystemClock& clock,
                   const std::stop_token& stop) {
  if (version) {
    const auto next = agent.get(std::string(kRoot) + "/snapshot?since=" + std::to_string(*version) +
                                    "&wait=" + std::to_string(kPoll.count()),
                                kPoll);
    if (next && (*next)["version"].if_int() != version) return;
  }
  [[maybe_unused]] const bool waited = clock.wait_for(seconds(1), stop);
}

int follow(const Question& question, Agent& agent, const Arguments& arguments,
           const std::stop_token& stop) {
  SystemClock clock;
  std::string last;  // with ages of zero, so that time alone is no news
  bool reached = false;
  bool told = false;
  int code = 4;
  while (!stop.stop_requested()) {
    const auto answer = agent.get(question.target);
    if (!answer) {
      if (stop.stop_requested()) break;
      const int failed = exit_code(answer.error());
      if (!reached || failed == 3) return say(answer.error());
      if (!told) say(answer.error());
      told = true;
      [[maybe_unused]] const bool waited = clock.wait_for(seconds(1), stop);
      continue;
    }
    reached = true;
    told = false;
    code = question.code(*answer);
    View view = view_of(arguments);
    View timeless = view;
    timeless.now = {};
    Value what = *answer;  // versions and times change with every cycle
    for (const auto* key : {"version", "at"}) what.erase(key);
    const std::string now = rendered(question, what, arguments, timeless);
    if (now != last) {
      last = now;
      if (!write_out(rendered(question, *answer, arguments, view))) return code;
      if (is_table(question, arguments)) write_out("\n");
    }
    wait_for_news(agent, (*answer)["version"].if_int(), clock, stop);
  }
  return code;
}

int show(const Arguments& arguments, const std::stop_token& stop) {
  Agent agent(arguments, stop);
  const auto question = question_of(arguments);
  if (arguments.watch) return follow(question, agent, arguments, stop);
  const auto answer = agent.get(question.target);
  if (!answer) return say(answer.error());
  write_out(rendered(question, *answer, arguments, view_of(arguments)));
  const int code = question.code(*answer);
  if (!answer->contains("health") && !answer->contains("items"))
    std::fprintf(stderr, "nobs: the agent's answer says nothing about health; another version?\n");
  return code;
}

int show_metrics(const Arguments& arguments, const std::stop_token& stop) {
  Agent agent(arguments, stop);
  const auto text = agent.text("/metrics");
  if (!text) return say(text.error());
  const auto series = parse_metrics(*text, arguments.words.empty() ? "" : arguments.words[0]);
  const Question question{
      {}, [](const Value& value, const View& view) { return metrics_text(value, view.page); }, {}};
  write_out(rendered(question, series, arguments, view_of(arguments)));
  return 0;
}

int watch_events(const Arguments& arguments, const std::stop_token& stop) {
  Agent agent(arguments, stop);
  SystemClock clock;
  std::string last_id;
  bool reached = false;
  bool is_open = true;
  SseReader reader([&](const SseEvent& event) {
    last_id = event.id;
    const auto value = json::parse(event.data);
    if (event.name == "reset") {
      std::fprintf(stderr, "nobs: events were missed; `nobs status` shows what is now\n");
    } else if (value && arguments.format == Format::Json) {
      is_open = write_out(clean_json(json::dump(*value)) + "\n");
    } else if (value && arguments.format == Format::Yaml) {
      is_open = write_out("---\n" + clean_json(to_yaml(*value)));
    } else if (value) {
      is_open = write_out(event_line(*value, view_of(arguments)));
    }
  });
  while (!stop.stop_requested()) {
    SseReader one = reader;  // a broken stream's half event goes with it
    const auto ended = agent.events(last_id, [&](std::string_view piece) {
      reached = true;
      return one.feed(piece) && is_open;
    });
    if (!is_open || stop.stop_requested()) return 0;
    const int status = ended ? 0 : ended.error().http_status;
    if (!ended && (!reached || (status >= 400 && status < 500))) return say(ended.error());
    std::fprintf(stderr, "nobs: the stream of events ended%s; connecting again\n",
                 ended ? "" : (": " + ended.error().message).c_str());
    [[maybe_unused]] const bool waited = clock.wait_for(seconds(1), stop);
  }
  return 0;
}

}  // namespace

int run_command(const Arguments& arguments, const std::stop_token& stop) {
  if (arguments.command == "metrics") return show_metrics(arguments, stop);
  if (arguments.command == "watch") return watch_events(arguments, stop);
  if (arguments.command == "top") return run_top(arguments, stop);
  return show(arguments, stop);
}

}  // namespace nobs::cli
