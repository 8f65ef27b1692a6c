// --gpu and --cost -> what times are known by: a card's rates, and measured times that replace estimates.
//
//   node,phase,microseconds            module,phase,microseconds
//   /conv1/Conv,forward,812.5          layer1,forward,4210
//   /conv1/Conv,backward,1630          layer1,backward,8377
//
// The first column is "node" (a node of the file) or "module" (a module path, with all that is in it; "" is the
// model); phases are those of the report: forward, loss, backward, optimizer.
#ifndef ONNX_MEM_CLI_ANSWERS_CLOCK_H_
#define ONNX_MEM_CLI_ANSWERS_CLOCK_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/devices/local_gpus.h"
#include "analyzer/devices/roofline.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/study/study.h"
#include "cli/options/options.h"
#include "report/analyze/report.h"

namespace onnx_mem {

// Errors: those of FindGpu; not-found, bad-cost naming the file and the line. A card without known rates is no error:
// the clock says why it tells no times. `local` is the card that "--gpu local" stands for.
absl::StatusOr<Clock> ClockOf(const Options& options, const LocalGpu* local = nullptr);

// Error (shared-memory) where the clock's card has its memory from the host and tensors are to go there: by a search,
// or by a plan that was given.
absl::Status CheckHostLink(const Clock& clock, bool offload, const std::optional<std::vector<Segment>>& given);

// `path` is for messages.
absl::StatusOr<std::vector<MeasuredTime>> ParseCosts(std::string_view text, const std::string& path);

// A warning where measured times name what the program does not run.
std::vector<Diagnostic> UnmatchedTimes(const Clock& clock, const MemoryProgram& program);

// What a rank exchanges with the others in `run`, of `workload`: where that is spread and the clock's card is known.
absl::Status AddTraffic(Study& study, Workload workload, const Clock& clock, RunSummary& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_ANSWERS_CLOCK_H_
