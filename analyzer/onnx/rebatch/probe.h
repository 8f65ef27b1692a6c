// Finds out which constants, initializers and inputs of a model exported at fixed sizes carry those sizes.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_PROBE_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_PROBE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/onnx/rebatch/scaling_hook.h"

namespace onnx_mem {

struct NodeEdit {
  int node = 0;
  ContentsEdit edit;
};

// An operand of exported batch 1 that is expanded right before the node: the framework expanded it too, and the
// exporter dropped what did nothing at batch 1.
struct Expansion {
  int node = 0;
  int input = 0;
  Traces dims;  // of the operand as the node then sees it
};

// What follows the changed sizes, whatever they become.
struct BatchPlan {
  std::vector<NodeEdit> edits;
  std::vector<Expansion> expansions;
  TraceMap sources;  // initializers, Constants and further graph inputs that are scaled themselves
  TraceMap traces;   // every scaled value of the main graph
  // Computed values of exported batch 1 that stay so beside others that follow: the file does not tell whether they
  // should. True where more than looking up went into them: position embeddings are right to stay.
  std::map<std::string, bool> unreached;
};

// `base`: what was inferred at the exported sizes; `input_traces`: the input dims that change.
// Errors: a Refusal; bad-shape where an operator does not fit its scaled operands.
absl::StatusOr<BatchPlan> FindBatchPlan(const onnx::ModelProto& model, const InferredGraph& base,
                                        const Variables& variables, const TraceMap& input_traces);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_PROBE_H_
