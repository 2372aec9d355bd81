#include "agent/sources/instance.h"

#include <algorithm>
#include <array>

namespace nobs::sources {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30U;
constexpr std::uint64_t kInf2Memory = 32 * kGiB;
constexpr std::uint64_t kTrn1Memory = 32 * kGiB;
constexpr std::uint64_t kTrn2Memory = 96 * kGiB;
constexpr std::uint64_t kTrn3Memory = 144 * kGiB;

constexpr InstanceType kInstances[] = {
    {"inf2.xlarge", 1, 2, kInf2Memory},       {"inf2.8xlarge", 1, 2, kInf2Memory},
    {"inf2.24xlarge", 6, 2, kInf2Memory},     {"inf2.48xlarge", 12, 2, kInf2Memory},
    {"trn1.2xlarge", 1, 2, kTrn1Memory},      {"trn1.32xlarge", 16, 2, kTrn1Memory},
    {"trn1n.32xlarge", 16, 2, kTrn1Memory},   {"trn2.3xlarge", 1, 8, kTrn2Memory},
    {"trn2.48xlarge", 16, 8, kTrn2Memory},    {"trn2u.48xlarge", 16, 8, kTrn2Memory},
    {"trn2p.48xlarge", 16, 8, kTrn2Memory},   {"trn2eu.48xlarge", 16, 8, kTrn2Memory},
    {"trn2es.48xlarge", 16, 8, kTrn2Memory},  {"trn3.48xlarge", 16, 8, kTrn3Memory},
    {"trn3p.48xlarge", 16, 8, kTrn3Memory},   {"trn3s-es.48xlarge", 16, 8, kTrn3Memory},
    {"trn3sn.48xlarge", 16, 8, kTrn3Memory},  {"trn3sn-es.48xlarge", 16, 8, kTrn3Memory},
    {"trn3e.24xlarge", 4, 8, kTrn3Memory},    {"trn3pd98.3xlarge", 1, 8, kTrn3Memory},
    {"trn3s-es.3xlarge", 1, 8, kTrn3Memory},  {"trn3sn.3xlarge", 1, 8, kTrn3Memory},
    {"trn3sn-es.3xlarge", 1, 8, kTrn3Memory},
};

constexpr Family kFamilies[] = {
    {"Inf2", "Inferentia2", 2, kInf2Memory, false},
    {"Trn1", "Trainium1", 2, kTrn1Memory, false},
    {"Trn2", "Trainium2", 8, kTrn2Memory, true},
    {"Trn3", "Trainium3", 8, kTrn3Memory, true},
};

}  // namespace

const InstanceType* find_instance(std::string_view type) {
  const auto* found = std::ranges::find(kInstances, type, &InstanceType::name);
  return found == std::end(kInstances) ? nullptr : found;
}

const Family* find_family(std::string_view name) {
  const auto* found = std::ranges::find(kFamilies, name, &Family::name);
  return found == std::end(kFamilies) ? nullptr : found;
}

bool is_neuron_function(std::string_view vendor, std::string_view device) {
  constexpr std::array<std::string_view, 5> kDevices = {"0x7164", "0x7264", "0x7364", "0x7564",
                                                        "0x7565"};
  return vendor == "0x1d0f" && std::ranges::find(kDevices, device) != kDevices.end();
}

}  // namespace nobs::sources
