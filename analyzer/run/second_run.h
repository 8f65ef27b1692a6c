// Which calls of a region its second run leaves out.
#ifndef ONNX_MEM_ANALYZER_RUN_SECOND_RUN_H_
#define ONNX_MEM_ANALYZER_RUN_SECOND_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/run/region_calls.h"

namespace onnx_mem {

// Outputs that are kept, by call: empty where the call is not kept, else a flag for each of its outputs.
using KeptOutputs = std::vector<std::vector<bool>>;

// The kept outputs that `kept` names. Error: the first name that is no call of the region, or an output that it has not
// (bad-plan).
struct KeptInRegion {
  KeptOutputs outputs;
  std::string error;  // "": none
};
KeptInRegion KeptIn(const RegionCalls& region, const std::vector<KeptCall>& kept);

// The state of each call of the region. Kept calls do not run. A call is skipped if nothing that runs, and no backward
// function, reads what it makes. A storage's writers run if and only if its maker does; so do views. Writers of
// storages from outside are skipped.
std::vector<CallState> StatesOf(const RegionCalls& region, const KeptOutputs& kept);

// The same where a plan says what it skips. Error: as of KeptIn, or a call that is kept and skipped.
struct StatesInRegion {
  std::vector<CallState> states;
  std::string error;  // "": none
};
StatesInRegion StatesBySkip(const RegionCalls& region, const KeptOutputs& kept, const std::vector<CallId>& skip);

// Why a second run with these states is wrong: something that runs, or a backward function, reads what is neither kept
// nor made again, or reads a kept storage before its last write. "": it is right.
std::string WrongReadIn(const RegionCalls& region, const KeptOutputs& kept, const std::vector<CallState>& states);

// The names of the skipped calls, as a plan lists them.
std::vector<CallId> SkippedCalls(const RegionCalls& region, const std::vector<CallState>& states);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_SECOND_RUN_H_
