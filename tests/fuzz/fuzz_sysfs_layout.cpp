// Whatever a driver's tree looks like: each place is one of its files, and each identity is read once per core.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "agent/sources/layout.h"
#include "shared/base/strings.h"
#include "tests/fuzz/input.h"

// One path per line; the first byte chooses the driver's version.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  using namespace nobs;
  using namespace nobs::sources;
  if (size == 0) return 0;
  const std::optional<Version> version =
      data[0] == 0 ? std::nullopt : std::optional(Version{2, data[0] % 40, 0});
  std::vector<std::string> files;
  for (const std::string_view line : split(fuzz::text_of(data + 1, size - 1), '\n'))
    files.emplace_back(line);
  const DeviceLayout layout = find_layout(version, files);
  fuzz::require((layout.layout == Layout::Unknown) == layout.places.empty(),
                "an unknown layout has no places");
  fuzz::require(std::ranges::is_sorted(layout.cores), "cores are in order");
  std::set<std::pair<const Identity*, int>> seen;
  for (const Place& place : layout.places) {
    fuzz::require(std::ranges::find(files, place.path) != files.end(), "a place is a file");
    fuzz::require(seen.emplace(place.identity, place.core).second, "an identity has one place");
    fuzz::require(
        place.core < 0 || std::ranges::find(layout.cores, place.core) != layout.cores.end(),
        "a place is of a core that is listed");
    fuzz::require(place.identity->is_core() == (place.core >= 0), "counters are a core's");
  }
  (void)find_missing(layout, version, "Trn2");
  return 0;
}
