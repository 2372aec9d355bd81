// The fault table: one row per class. docs/faults.md is generated from it.
//
// Sources: design section 4; driver reference sections 9 and 12.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "shared/api/fault.h"

namespace nobs::health {

// One kind of sign that a fault shows. A row's witnesses are what can speak for it.
enum class Witness {
  HbmUncorrectedRose,
  HbmRepairableRose,
  SramUncorrectedRose,
  ComponentHbm,
  ComponentSram,
  ComponentLink,
  ComponentFabric,
  ComponentFirmware,
  ComponentUnknown,
  CoreHbmError,
  CoreRepairableHbmError,
  CoreNcError,
  CoreDmaAbort,
  CoreCollectivesError,
  CoreTimeout,
  ResetFailRose,
  StateInvalid,
  DeviceAbsent,
  ReportedUnreachable,
  AllOnes,
  HeartbeatStill,
  KernelLine,  // witnesses of other sources: part of the table, told by the sources that come with them
  CorrectedRate,
  CoreBusyUnowned,
  FabricRate,
};

// How many agreeing readings make a sign a fact.
enum class Confirm {
  TwoReadings,  // two in a row, or two different witnesses at once
  Lasting,      // for as long as the option of that class says
};

enum class Clear {
  OtherSerial,       // another part in this slot, or acknowledged
  NewEpochAndZero,   // the driver was reloaded and the HBM pair reads 0
  NewEpochAndReady,  // the driver was reloaded and the device state is 1
  CountWhole,        // the device is there, and so are all others
  ReadableQuiet,     // readable with its serial for the quiet time
  SignGoneQuiet,     // no sign of it for the quiet time
  SignGone,          // at once
};

struct FaultRule {
  api::FaultClass fault;
  api::Severity severity;
  std::span<const Witness> witnesses;
  Confirm confirm;
  api::Action action;
  Clear clears;
  std::string_view meaning;
};

std::span<const FaultRule> fault_rules();
const FaultRule& rule_of(api::FaultClass fault);

std::string_view to_string(
    Witness witness);  // as in status.faults[].witnesses: "HbmUncorrectedRose"
std::string_view describe(Witness witness);  // what was seen, for docs/faults.md
std::string_view describe(Confirm confirm);
std::string_view describe(Clear clear);

}  // namespace nobs::health
