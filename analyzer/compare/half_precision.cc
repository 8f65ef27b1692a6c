#include "analyzer/compare/half_precision.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "analyzer/graph/shape.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

int64_t BytesOf(const Tensor& tensor) { return NumBytes(tensor.shape, tensor.dtype).value_or(0); }

void Count(std::vector<OperatorGroup>& groups, std::string_view op, int64_t bytes) {
  auto at = std::find_if(groups.begin(), groups.end(), [&](const OperatorGroup& group) { return group.op == op; });
  if (at == groups.end()) at = groups.insert(groups.end(), {std::string(op), 0, 0});
  ++at->count;
  at->bytes += bytes;
}

void SortBySize(std::vector<OperatorGroup>& groups) {
  StableSort(groups, [](const OperatorGroup& a, const OperatorGroup& b) { return a.bytes > b.bytes; });
}

const Tensor* TensorOf(const Graph& graph, const TensorIds& ids, size_t i) {
  return i < ids.size() && ids[i].valid() ? &graph.tensors[ids[i]] : nullptr;
}

bool IsCast(const Tensor* input, const Tensor* output) {
  return input && output && IsFloating(input->dtype) && IsFloating(output->dtype) && input->dtype != output->dtype &&
         input->shape == output->shape;
}

}  // namespace

std::optional<HalfPrecision> FindHalfPrecision(const Graph& graph) {
  HalfPrecision found;
  int64_t half_bytes = 0, bfloat_bytes = 0, other_bytes = 0;
  for (TensorId id : graph.initializers) {
    const Tensor& tensor = graph.tensors[id];
    if (!IsFloating(tensor.dtype)) continue;
    (IsHalf(tensor.dtype) ? half_bytes : other_bytes) += BytesOf(tensor);
    if (tensor.dtype == DType::kBFloat16) bfloat_bytes += BytesOf(tensor);
    if (tensor.dtype != DType::kFloat32) continue;
    ++found.fp32_weights;
    found.fp32_weight_bytes += BytesOf(tensor);
  }
  if (half_bytes == 0 || half_bytes < other_bytes) return std::nullopt;
  found.dtype = 2 * bfloat_bytes > half_bytes ? DType::kBFloat16 : DType::kFloat16;
  for (const Node& node : graph.nodes) {
    const Tensor* output = TensorOf(graph, node.outputs, 0);
    // Known contents are constants and folded shape arithmetic, which run on no device; without inputs, it is neither.
    if (!output || output->value || node.inputs.empty()) continue;
    const Tensor* input = TensorOf(graph, node.inputs, 0);
    if (IsCast(input, output)) {
      Count(found.casts, absl::StrFormat("%s to %s", NameOf(input->dtype), NameOf(output->dtype)), BytesOf(*output));
    } else if (output->dtype == DType::kFloat32) {
      Count(found.kept_fp32, node.op, BytesOf(*output));
    }
  }
  SortBySize(found.kept_fp32);
  SortBySize(found.casts);
  return found;
}

}  // namespace onnx_mem
