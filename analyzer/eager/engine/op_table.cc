#include "analyzer/eager/engine/op_table.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/eager/operators/families.h"

namespace onnx_mem::eager {
namespace {

using Index = absl::flat_hash_map<OpName, const OpRow*>;

// All families, in the order of op_table.h.
constexpr std::span<const OpRow> (*kFamilies[])() = {
    ViewOps,       UnaryOps,       ScalarOps,   BinaryOps,        SelectionOps,     ExtremumOps,  MatmulOps,
    EinsumOps,     ConvolutionOps, NormOps,     NormCompositeOps, PoolOps,          SoftmaxOps,   ReduceOps,
    CumulativeOps, SelectOps,      ShapeOps,    ResampleOps,      CreateOps,        AttentionOps, DropoutOps,
    RecurrentOps,  QuantizeOps,    SpectralOps, LinearAlgebraOps, DetectionOps,     ComplexOps,   ComplexViewOps,
    LossOps,       CollectiveOps,  DefaultOps,  WithResultOps,    ScatterReduceOps,
};

Index BuildIndex() {
  Index index;
  for (auto family : kFamilies) {
    for (const OpRow& row : family()) index.emplace(row.name, &row);
  }
  return index;
}

absl::Status CheckNode(const FrameworkGraph& graph, NodeId id) {
  const FrameworkNode& node = graph.nodes[id];
  const OpRow* row = FindOp(node.op);
  if (row == nullptr) {
    return absl::UnimplementedError(absl::StrCat(Describe(graph, id), ": framework operator without a row"));
  }
  if (!Fits(*row, ShapeOfCall(graph, node))) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(graph, id), ": its inputs are not what the operator takes"));
  }
  return absl::OkStatus();
}

}  // namespace

const OpRow* FindOp(const OpName& name) {
  static const Index& index = *new Index(BuildIndex());
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::vector<const OpRow*> AllOps() {
  std::vector<const OpRow*> rows;
  for (auto family : kFamilies) {
    for (const OpRow& row : family()) rows.push_back(&row);
  }
  return rows;
}

bool Fits(const OpRow& row, const CallShape& call) {
  for (size_t i = 0; i < static_cast<size_t>(row.inputs); ++i) {
    if (call.rank(i) < 0) return false;
  }
  return (row.inputs == 0 || call.rank(0) >= row.rank) && (row.fits == nullptr || row.fits(call));
}

absl::Status CheckOperators(const FrameworkGraph& graph) {
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    if (absl::Status status = CheckNode(graph, id); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int64_t MovedBytes(const Call& call, const Outputs& outputs) {
  int64_t bytes = TotalBytes(call.inputs);
  for (const TensorRef& output : outputs) {
    const bool overwrites =
        output != nullptr && std::any_of(call.inputs.begin(), call.inputs.end(), [&](const TensorRef& input) {
          return input != nullptr && input->storage == output->storage;
        });
    if (overwrites) bytes += DenseBytes(output->dims, output->dtype);
  }
  return bytes;
}

int64_t MovedBytesUntilStop(const Call& call, const Recorder& recorder) {
  // A step that made nothing wrote over its input.
  const bool made_nothing = recorder.program().steps[recorder.current_step()].moved_bytes == 0;
  const bool overwrites = call.inplace() && made_nothing && !call.inputs.empty();
  return MovedBytes(call, overwrites ? Outputs{call.inputs.front()} : Outputs{});
}

}  // namespace onnx_mem::eager
