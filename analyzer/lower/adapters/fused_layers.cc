#include "analyzer/lower/adapters/fused_layers.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/lower/adapters/split_rules.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

struct TrackedAxis {
  TensorId id;
  int axis = 0;
};

bool TakesPieces(const OpName& op) { return op == "split" || op == "unbind" || op == "slice" || op == "select"; }

// Where `at` is behind `node`; one rank splits nothing, so that a rule tells where the dimension itself is.
std::optional<int> AxisBehind(const Lowered& lowered, const FrameworkNode& node, const TrackedAxis& at) {
  if (node.outputs.empty() || !node.outputs.front().valid()) return std::nullopt;
  const Dims& from = lowered.graph.tensors[at.id].shape.dims;
  const Dims& to = lowered.graph.tensors[node.outputs.front()].shape.dims;
  const OpFamily family = FactsOf(node.op).family;
  if (family != OpFamily::kView) return family == OpFamily::kBinary && from == to ? at.axis : kWhole;
  if (node.inputs.front() != at.id) return kWhole;
  SplitCall call{.graph = lowered.graph, .node = node, .axes = {}};
  call.axes.assign(node.inputs.size(), kWhole);
  call.axes.front() = at.axis;
  const std::optional<OutputSplit> split = SplitOfOutputs(call);
  return split ? std::optional<int>(split->axis) : std::nullopt;
}

int64_t PiecesTaken(const Lowered& lowered, const FrameworkNode& node, const TrackedAxis& at) {
  if (node.outputs.size() > 1) return static_cast<int64_t>(node.outputs.size());
  const int64_t size = lowered.graph.tensors[at.id].shape.dims[static_cast<size_t>(at.axis)];
  if (node.op == "select") return size;
  const int64_t piece = lowered.graph.tensors[node.outputs.front()].shape.dims[static_cast<size_t>(at.axis)];
  return piece > 0 && size % piece == 0 ? size / piece : 1;
}

}  // namespace

int64_t PiecesOf(const Lowered& lowered, const FrameworkNode& layer) {
  const TensorId y = layer.outputs.front();
  std::vector<TrackedAxis> open = {{y, static_cast<int>(lowered.graph.tensors[y].shape.rank()) - 1}};
  while (!open.empty()) {
    const TrackedAxis at = open.back();
    open.pop_back();
    if (at.axis < 0) continue;
    for (const NodeId reader : lowered.graph.tensors[at.id].consumers) {
      const FrameworkNode& node = lowered.graph.nodes[reader];
      const std::optional<int> axis = AxisBehind(lowered, node, at);
      if (!axis && TakesPieces(node.op)) return PiecesTaken(lowered, node, at);
      if (axis && *axis != kWhole) open.push_back({node.outputs.front(), *axis});
    }
  }
  return 1;
}

void NoteFused(const std::vector<StyledModule>& modules, std::vector<Diagnostic>& notes) {
  Diagnostic note{.code = Code::kOneRank, .severity = Severity::kNote, .count = 0};
  std::string first;
  for (const StyledModule& module : modules) {
    if (module.pieces == 1) continue;
    if (note.count++ == 0) first = module.path;
  }
  if (note.count == 0) return;
  note.message = absl::StrCat("several projections are one layer ('", first,
                              "'), of each of which a rank has its heads, as in Megatron; torch's ColwiseParallel "
                              "splits such a layer as it lies, and takes no Conv1D: make them an nn.Linear each, or "
                              "shard each by hand");
  notes.push_back(std::move(note));
}

}  // namespace onnx_mem
