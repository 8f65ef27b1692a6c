#include "analyzer/eager/output_loss.h"

#include <cstddef>

#include "analyzer/eager/loss.h"

namespace onnx_mem::eager {
namespace {

// Classes stand last in the output of a linear layer over [B, T, features], in dim 1 of what a convolution made.
size_t ClassAxis(const Graph& graph, TensorId output) {
  const size_t rank = graph.tensors[output].shape.rank();
  if (rank != 3) return rank > 1 ? 1 : 0;
  TensorId id = output;
  while (graph.tensors[id].producer.valid()) {
    const Node& node = graph.nodes[graph.tensors[id].producer];
    if (node.op == "linear" || node.op == "matmul" || node.op == "addmm") return 2;
    if (node.op == "conv" || node.op == "conv_transpose" || node.inputs.empty() || !node.inputs[0].valid()) break;
    id = node.inputs[0];
  }
  return 1;
}

}  // namespace

LossKind ResolveLoss(LossKind asked, const Graph& graph, const std::vector<TensorId>& outputs) {
  if (asked != LossKind::kAuto) return asked;
  if (outputs.empty()) return LossKind::kNone;
  return graph.tensors[outputs.front()].shape.rank() == 2 ? LossKind::kCrossEntropy : LossKind::kMean;
}

int64_t TargetBytes(LossKind loss, const Graph& graph, TensorId output, bool autocast) {
  const Tensor& tensor = graph.tensors[output];
  const int64_t elements = NumElements(tensor.shape.dims);
  if (loss == LossKind::kMse) return elements * (autocast ? 4 : RowOf(tensor.dtype).bits / 8);
  if (loss != LossKind::kCrossEntropy || tensor.shape.rank() == 0) return 0;
  const int64_t classes = tensor.shape.dims[ClassAxis(graph, output)];
  return classes > 0 ? elements / classes * 8 : 0;
}

TensorRef LossOfOutput(Machine& m, LossKind kind, const Graph& graph, TensorId id, const TensorRef& value) {
  if (value->dims.empty()) return value;
  switch (kind) {
    case LossKind::kMean: return MeanLoss(m, value);
    case LossKind::kCrossEntropy: return CrossEntropy(m, value, ClassAxis(graph, id));
    case LossKind::kMse: return MseLoss(m, value);
    default: return SumLoss(m, value);
  }
}

}  // namespace onnx_mem::eager
