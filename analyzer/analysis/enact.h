// Lowered graph + Run -> MemoryProgram: the one place where lower (what the framework ran) and eager (what it does to
// memory) meet.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_ENACT_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_ENACT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/figure_rows.h"
#include "analyzer/analysis/module_nodes.h"
#include "analyzer/analysis/prepare.h"
#include "analyzer/eager/engine/gradient_arrival.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"
#include "analyzer/memory/program.h"
#include "analyzer/run/region_calls.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// A parameter of the model, as the optimizer sees it.
struct Parameter {
  std::string name;       // of the module's attribute, as far as the file tells
  std::string file_name;  // of the tensor in the file, where there is one
  std::string module;
  BufferId buffer = {};  // of the program
  Dims dims;
  DType dtype = DType::kUnknown;
  int64_t bytes = 0;
  bool trainable = true;      // false: frozen
  bool has_gradient = false;  // it got one in backward
};

// The operator of the step in which a backward pass ends.
inline constexpr char kEndOfBackward[] = "end of backward";

// One forward, loss and backward (training), or one forward (inference), without any optimizer. Where gradients are
// accumulated, `program` has the first micro-step and, after it, one with the gradients there already: all later ones
// are like that one. PassFigures are those of one micro-step.
struct Enacted : PassFigures {
  MemoryProgram program;  // parameters, buffers and inputs live throughout
  std::vector<Parameter> parameters;
  std::vector<GradientArrival> arrivals;  // of the first micro-step
  std::vector<BufferId> inputs, outputs;  // storages of the graph's, in its order; invalid: it has none
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0;
  int64_t buffer_bytes = 0;         // running statistics and other tensors that are not trained
  int64_t host_peak_bytes = 0;      // most that offloaded segments have on the host at once
  bool batch_statistics = false;    // some layer normalizes over the batch: its size changes what is computed
  LossKind loss = LossKind::kNone;  // what kAuto became
  int64_t held_output_bytes = 0;    // that the loop holds from forward to the end of the step
  int64_t loss_tokens = 0;          // over which it is taken, where that is not the batch
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> plain_rewrites;  // of lower.h
  std::vector<std::string> assumptions;    // "in-place ReLU", for the report's last line
};

// `graph` as imported (analyzer/onnx). Errors: Unimplemented for constructs that are refused, Internal for our bugs.
absl::StatusOr<Enacted> Enact(const Graph& graph, const Run& run);

// The same in two halves, so that many runs that differ in checkpoint segments alone (a planner's) lower the graph
// once: Enact(graph, run) == EnactLowered(*Prepare(graph, run), run). `run` may differ between the halves in
// `segments`, `checkpointed`, `freeze`, `requires_grad`, `hold` and `loss`; everything else is settled by Prepare.
// `modules`: those of `lowered`, which a planner looks up once; may be null.
absl::StatusOr<Enacted> EnactLowered(const Lowered& lowered, const Run& run, const ModuleNodes* modules = nullptr);

// What the requested loss is of this model.
LossKind LossOf(const Lowered& lowered, LossKind requested);

// The same of a pipeline's stage whose outputs are sent on: in place of a loss, the gradients of the outputs are
// received when the backward pass begins, and held until it is done.
absl::StatusOr<Enacted> EnactSendingStage(const Lowered& lowered, const Run& run);

// What a planner that may run anything again must know beside the program: which buffers each node of the forward reads
// and makes, and what its backward needs of them.
struct NodeTrace {
  int32_t node = -1;  // of the lowered graph
  StepId begin;       // its steps: [begin, end), none for a view
  StepId end;
  std::vector<BufferId> reads;   // storages of its inputs
  std::vector<BufferId> writes;  // storages of its outputs; also among `reads` where it is a view or works in place
};
struct SavedTrace {
  int32_t node = -1;  // whose forward made this autograd node; -1: the loss
  std::vector<BufferId> buffers;
  // Its steps in backward: [begin, fits) read all that it saved, [fits, end) fit results to what they are gradients of.
  // Under checkpointing what it saved is gone by then; without, it stays to the end.
  StepId begin, fits, end;
};
struct StepTrace {
  Enacted enacted;
  std::vector<NodeTrace> forward;
  std::vector<SavedTrace> saved;  // one per autograd node of the forward or the loss, first made first
  RegionCalls calls;              // of the forward, but for what the model's own checkpoints hold
};

// As EnactLowered, with `run` training, one micro-step and no checkpoint segments.
absl::StatusOr<StepTrace> TraceStep(const Lowered& lowered, const Run& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_ENACT_H_
