// What is on the device before a step begins: parameters, of which some are frozen, buffers and inputs.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_STATICS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_STATICS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/graph/name_pattern.h"

namespace onnx_mem {

// Run::freeze as patterns. Error: usage.
absl::StatusOr<std::vector<NamePattern>> FrozenPatterns(const Run& run);
void AllocateStatics(eager::Executor& executor, const Lowered& lowered, const Run& run,
                     const std::vector<NamePattern>& frozen);
// Of the step that ran: what the optimizer then has.
void AddParameters(const eager::Machine& m, const eager::Executor& executor, const FrameworkGraph& graph,
                   Enacted& result);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_STATICS_H_
