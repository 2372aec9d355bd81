#include "agent/nobs/top.h"

#include <cstdio>
#include <memory>

#include "agent/nobs/agent.h"
#include "agent/nobs/terminal.h"
#include "agent/nobs/top_view.h"

namespace nobs::cli {

int run_top(const Arguments& arguments, const std::stop_token& stop) {
  Agent agent(arguments, stop);
  const std::string target = std::string(kRoot) + "/snapshot";
  auto first = agent.get(target);
  if (!first) {  // before the screen is taken, so that the message stays
    if (!first.error().is_stopped())
      std::fprintf(stderr, "nobs: %s\n", first.error().message.c_str());
    return exit_code(first.error());
  }
  SystemClock clock;
  json::Value snapshot = *std::move(first);
  json::Value earlier;
  std::string trouble;
  std::unique_ptr<FullScreen> screen;
  if (output_is_screen()) screen = std::make_unique<FullScreen>();
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(arguments.interval);
  while (!stop.stop_requested()) {
    const Size size = output_size();
    const View view{{size.width, wants_colours()}, clock.now(), false};
    const auto frame = top_frame(snapshot, earlier, view, screen ? size.height : 0, trouble);
    if (!(screen ? screen->show(frame) : write_out(frame + "\n"))) break;
    if (!screen) {
      if (!clock.wait_for(interval, stop)) break;
    } else {
      const Key key = wait_for_key(interval, size, stop);
      if (key == Key::Quit) break;
      if (key == Key::Resized) continue;
    }
    if (stop.stop_requested()) break;
    auto next = agent.get(target);
    if (next) {
      earlier = std::move(snapshot);
      snapshot = *std::move(next);
      trouble.clear();
    } else if (!next.error().is_stopped()) {
      trouble = next.error().message;
    }
  }
  return trouble.empty() ? health_code(snapshot) : 4;
}

}  // namespace nobs::cli
