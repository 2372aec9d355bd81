#include "agent/health/rules.h"

namespace nobs::health {
namespace {

using api::Action;
using api::FaultClass;
using api::Severity;
using W = Witness;

constexpr std::array kHbmUncorrectable = {W::HbmUncorrectedRose, W::ComponentHbm, W::CoreHbmError,
                                          W::KernelLine};
constexpr std::array kHbmRepairable = {W::HbmRepairableRose, W::CoreRepairableHbmError};
constexpr std::array kSram = {W::SramUncorrectedRose, W::ComponentSram, W::KernelLine};
constexpr std::array kCore = {W::CoreNcError, W::KernelLine};
constexpr std::array kDma = {W::CoreDmaAbort, W::KernelLine};
constexpr std::array kReset = {W::StateInvalid, W::ResetFailRose, W::KernelLine};
constexpr std::array kMissing = {W::DeviceAbsent, W::KernelLine};
constexpr std::array kUnreachable = {W::ReportedUnreachable, W::AllOnes};
constexpr std::array kLink = {W::ComponentLink};
constexpr std::array kFabric = {W::ComponentFabric};
constexpr std::array kFirmware = {W::ComponentFirmware};
constexpr std::array kStalled = {W::HeartbeatStill};
constexpr std::array kCollectives = {W::CoreCollectivesError, W::KernelLine};
constexpr std::array kCompute = {W::CoreTimeout};
constexpr std::array kCorrected = {W::CorrectedRate};
constexpr std::array kLeaked = {W::CoreBusyUnowned};
constexpr std::array kEfa = {W::FabricRate};
constexpr std::array kUnverified = {W::ComponentUnknown, W::KernelLine};

constexpr std::array<FaultRule, api::kFaultClasses> kRules = {{
    {FaultClass::HBMUncorrectable, Severity::Fatal, kHbmUncorrectable, Confirm::TwoReadings,
     Action::ReplaceNode, Clear::OtherSerial,
     "A memory bank returned wrong data that the device could not repair; results since then "
     "cannot be trusted."},
    {FaultClass::HBMRepairable, Severity::Fatal, kHbmRepairable, Confirm::TwoReadings,
     Action::ReloadDriver, Clear::NewEpochAndZero,
     "A memory bank returned wrong data; the device can map it out, and does so when the driver is "
     "loaded anew."},
    {FaultClass::SRAMUncorrectable, Severity::Fatal, kSram, Confirm::TwoReadings,
     Action::ReplaceNode, Clear::OtherSerial,
     "On-chip memory returned wrong data; results since then cannot be trusted."},
    {FaultClass::CoreUncorrectable, Severity::Fatal, kCore, Confirm::TwoReadings,
     Action::ReplaceNode, Clear::OtherSerial,
     "A NeuronCore reported an uncorrectable memory error of its own."},
    {FaultClass::DMAAbort, Severity::Fatal, kDma, Confirm::TwoReadings, Action::ReplaceNode,
     Clear::OtherSerial, "A DMA engine of the device stopped in an abort state."},
    {FaultClass::ResetFailed, Severity::Fatal, kReset, Confirm::TwoReadings, Action::ReloadDriver,
     Clear::NewEpochAndReady, "The device did not come back from a reset; nothing can open it."},
    {FaultClass::DeviceMissing, Severity::Fatal, kMissing, Confirm::Lasting, Action::RebootNode,
     Clear::CountWhole, "The instance type has this device and the driver does not show it."},
    {FaultClass::DeviceUnreachable, Severity::Fatal, kUnreachable, Confirm::Lasting,
     Action::RebootNode, Clear::ReadableQuiet,
     "The device is on the bus no more, or its firmware does not answer."},
    {FaultClass::LinkFault, Severity::Fatal, kLink, Confirm::TwoReadings, Action::ReplaceNode,
     Clear::SignGoneQuiet, "A NeuronLink of the device is down or impaired."},
    {FaultClass::FabricFault, Severity::Fatal, kFabric, Confirm::TwoReadings, Action::ReplaceNode,
     Clear::SignGoneQuiet, "The interconnect inside the device reports errors."},
    {FaultClass::FirmwareFault, Severity::Fatal, kFirmware, Confirm::TwoReadings,
     Action::RebootNode, Clear::SignGoneQuiet, "A firmware service of the device does not work."},
    {FaultClass::FirmwareStalled, Severity::Warning, kStalled, Confirm::Lasting, Action::None,
     Clear::SignGone,
     "The health monitor in the device's firmware stopped; what it reports is old, so the device "
     "is Unknown."},
    {FaultClass::CollectivesHang, Severity::Warning, kCollectives, Confirm::TwoReadings,
     Action::CheckPeers, Clear::SignGoneQuiet,
     "Collectives did not complete; often another worker is the cause."},
    {FaultClass::ComputeHang, Severity::Warning, kCompute, Confirm::TwoReadings, Action::CheckPeers,
     Clear::SignGoneQuiet, "An execution timed out."},
    {FaultClass::CorrectedErrorStorm, Severity::Warning, kCorrected, Confirm::Lasting,
     Action::Monitor, Clear::SignGoneQuiet, "Corrected memory errors come faster than usual."},
    {FaultClass::CoreLeaked, Severity::Warning, kLeaked, Confirm::Lasting, Action::RestartWorkload,
     Clear::SignGone, "A core is in use and no pod owns it."},
    {FaultClass::ImpairedEFA, Severity::Warning, kEfa, Confirm::Lasting, Action::CheckFabric,
     Clear::SignGoneQuiet, "The network adapter retransmits or loses remotes."},
    {FaultClass::UnverifiedReport, Severity::Warning, kUnverified, Confirm::TwoReadings,
     Action::Investigate, Clear::SignGoneQuiet,
     "A report that nothing else confirms, or in words that this version does not know."},
}};

// Rows stand in the order of the enumeration, so that a class finds its row without a search.
constexpr bool rows_in_order() {
  for (size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<size_t>(kRules.at(i).fault) != i) return false;
  }
  return true;
}
static_assert(rows_in_order());

struct WitnessText {
  std::string_view name, meaning;
};
constexpr std::array<WitnessText, 25> kWitnessTexts = {{
    {"HbmUncorrectedRose", "`mem_ecc_uncorrected` rose"},
    {"HbmRepairableRose", "`mem_ecc_repairable_uncorrected` rose"},
    {"SramUncorrectedRose", "`sram_ecc_uncorrected` rose"},
    {"ComponentHbm", "unhealthy component `hbm`"},
    {"ComponentSram", "unhealthy component `sram`"},
    {"ComponentLink", "unhealthy component `link_*`"},
    {"ComponentFabric", "unhealthy component `axi_fabric`"},
    {"ComponentFirmware", "unhealthy component `firmware_service_*`"},
    {"ComponentUnknown", "an unhealthy component of a name that no rule knows"},
    {"CoreHbmError", "core counter `hw_hbm_ue_error` rose"},
    {"CoreRepairableHbmError", "core counter `hw_repairable_hbm_ue_error` rose"},
    {"CoreNcError", "core counter `hw_nc_ue_error` rose"},
    {"CoreDmaAbort", "core counter `hw_dma_abort_error` rose"},
    {"CoreCollectivesError", "core counter `hw_collectives_error` rose"},
    {"CoreTimeout", "core counter `timeout` rose"},
    {"ResetFailRose", "`reset_fail_count` rose on all cores"},
    {"StateInvalid", "device state 2"},
    {"DeviceAbsent", "fewer devices than the instance type or the PCI bus has"},
    {"ReportedUnreachable", "`device_unreachable`"},
    {"AllOnes", "registers read all ones"},
    {"HeartbeatStill", "`healthcheck_heartbeat` does not move"},
    {"KernelLine", "a line of the kernel log"},
    {"CorrectedRate", "corrected errors above their rate"},
    {"CoreBusyUnowned", "core memory in use without an owner"},
    {"FabricRate", "EFA counters above their rate"},
}};

}  // namespace

std::span<const FaultRule> fault_rules() { return kRules; }
const FaultRule& rule_of(FaultClass fault) { return kRules.at(static_cast<size_t>(fault)); }

std::string_view to_string(Witness witness) {
  return kWitnessTexts.at(static_cast<size_t>(witness)).name;
}
std::string_view describe(Witness witness) {
  return kWitnessTexts.at(static_cast<size_t>(witness)).meaning;
}

std::string_view describe(Confirm confirm) {
  return confirm == Confirm::TwoReadings ? "two agreeing readings, or two witnesses at once"
                                         : "lasts (see options)";
}

std::string_view describe(Clear clear) {
  switch (clear) {
    case Clear::OtherSerial:
      return "another serial in this slot, or acknowledged";
    case Clear::NewEpochAndZero:
      return "new epoch and the HBM pair reads 0, or acknowledged";
    case Clear::NewEpochAndReady:
      return "new epoch and state 1, or acknowledged";
    case Clear::CountWhole:
      return "the count is whole again, or acknowledged";
    case Clear::ReadableQuiet:
      return "readable, with its serial, for the quiet time, or acknowledged";
    case Clear::SignGoneQuiet:
      return "no sign for the quiet time, or acknowledged";
    case Clear::SignGone:
      return "the sign is gone";
  }
  return "";
}

}  // namespace nobs::health
