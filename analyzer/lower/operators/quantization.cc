// Integer arithmetic and its borders. Scales and zero points are numbers to the framework.
//
// QuantizeLinear and DequantizeLinear behind each other are the framework's fake_quantize: quantization-aware training
// exports it so, and its gradient passes through. A quantized tensor that anything else reads ends the gradient.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// The nodes that read q, if they only give it back as floats.
NodeIds OnlyDequantized(const Graph& graph, TensorId q) {
  const NodeIds& readers = graph.tensors[q].consumers;
  const bool all = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return graph.nodes[reader].op == "DequantizeLinear" && graph.nodes[reader].inputs[0] == q;
  });
  const bool output = std::find(graph.outputs.begin(), graph.outputs.end(), q) != graph.outputs.end();
  return all && !output ? readers : NodeIds{};
}

}  // namespace

void LowerQuantize(Site& s) {
  const NodeIds readers = s.node().op == "QuantizeLinear" ? OnlyDequantized(s.source(), s.Out(0)) : NodeIds{};
  if (readers.empty()) {
    s.Emit("quantize", {s.Materialized(0)}, s.node().outputs);
    return;
  }
  const TensorId back = s.source().nodes[readers.front()].outputs[0];
  s.Emit("fake_quantize", {s.Materialized(0)}, {back});
  for (size_t i = 1; i < readers.size(); ++i) {
    if (const TensorId copy = s.source().nodes[readers[i]].outputs[0]; copy != back) s.draft().Alias(copy, back);
  }
}

void LowerDequantize(Site& s) {
  const Node* maker = s.Has(0) ? s.source().MakerOf(s.node().inputs[0]) : nullptr;
  const bool faked =
      maker != nullptr && maker->op == "QuantizeLinear" && !OnlyDequantized(s.source(), s.node().inputs[0]).empty();
  if (!faked) s.Emit("dequantize", {s.Materialized(0)}, {s.Out(0)});
}

// Products of integers: a new result, nothing saved, no gradient. The weights that they read lie on the device.
void LowerIntegerProduct(Site& s) { s.Emit("empty", s.DeviceTensors(), s.node().outputs); }

namespace {

// Two weights of four bits lie in each stored byte, block by block: as what they are, they count as so many parameters.
void CountNibbles(Draft& draft, TensorId weight) {
  if (!weight.valid() || draft.producer(weight).valid()) return;
  Tensor& tensor = draft.mutable_tensor(weight);
  const bool stored_bytes = tensor.role == TensorRole::kInitializer && tensor.dtype == DType::kUInt8;
  if (!stored_bytes || !tensor.shape.known() || tensor.shape.rank() != 3) return;
  constexpr int64_t kPerByte = 2;
  const std::optional<int64_t> bytes = NumElements(tensor.shape);
  const int64_t rows = tensor.shape.dims[0];
  if (!bytes || rows <= 0 || *bytes > INT64_MAX / kPerByte) return;
  tensor.shape = Shape({rows, *bytes / rows * kPerByte});
  tensor.dtype = DType::kInt4;
}

}  // namespace

// x, weight in blocks of a few bits, scales, zero points?, group index?, bias?
void LowerPackedWeightProduct(Site& s) {
  const int64_t features = s.Int("N", 0), depth = s.Int("K", 0);
  if (features <= 0 || depth <= 0) return s.Assume();
  constexpr int64_t kFourBits = 4;
  if (s.Int("bits", kFourBits) == kFourBits) CountNibbles(s.draft(), s.In(1));
  const TensorId product = s.Has(5) ? s.Temp(s.OutShape().dims, s.OutType()) : s.Out(0);
  s.Emit("packed_linear", {s.Materialized(0), s.Materialized(1)}, {product},
         {{"features", features}, {"depth", depth}});
  if (s.Has(5)) s.Emit("add", {product, s.Materialized(5)}, {s.Out(0)});
}

}  // namespace onnx_mem
