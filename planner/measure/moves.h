// Which modules might go to the host, and what each takes off the device then: what its nodes save for backward and
// nobody outside saves. A second run frees other storages: those that the module makes.
//
//   conv1 bn1 relu1   bn1 saves conv1's result: on the host it is off the device; a second run of bn1 would read it
#ifndef ONNX_MEM_PLANNER_MEASURE_MOVES_H_
#define ONNX_MEM_PLANNER_MEASURE_MOVES_H_

#include "analyzer/analysis/enact.h"
#include "planner/measure/candidates.h"
#include "planner/measure/profile.h"

namespace onnx_mem {

// Those of `places` (FindPlaces) that save anything; of their figures `saves_bytes` alone. `trace`: the step without
// segments.
Profile MovesOf(const CandidateSet& places, const StepTrace& trace);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_MOVES_H_
