#include "agent/sources/reading.h"

namespace nobs::sources {

std::string_view to_string(Layout layout) {
  switch (layout) {
    case Layout::A:
      return "A";
    case Layout::B:
      return "B";
    case Layout::Unknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view to_string(DriverState state) {
  switch (state) {
    case DriverState::NotLoaded:
      return "not_loaded";
    case DriverState::Coming:
      return "coming";
    case DriverState::Live:
      return "live";
    case DriverState::Unloading:
      return "unloading";
  }
  return "not_loaded";
}

std::string_view to_string(ReadProblem problem) {
  switch (problem) {
    case ReadProblem::None:
      return "";
    case ReadProblem::NotYetRead:
      return "NotYetRead";
    case ReadProblem::Timeout:
      return "ReadTimeout";
    case ReadProblem::Gone:
      return "NotYetRead";  // missing, or its driver goes: the next cycle says which
    case ReadProblem::LayoutUnknown:
      return "LayoutUnknown";
    case ReadProblem::Denied:
      return "NotYetRead";  // the detail names the file and the errno
  }
  return "";
}

}  // namespace nobs::sources
