// Softmax and log-softmax: the result is saved and is contiguous. Under autocast a half input gives a float32 result
// (fp32_set_opt_dtype): by an argument of the kernel for float16, from a cast copy for bfloat16, for which the kernel
// has no such argument. Sources: aten/src/ATen/native/SoftMax.cpp, aten/src/ATen/autocast_mode.h,
// tools/autograd/derivatives.yaml.
#include "analyzer/eager/operators/softmax.h"

#include <array>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {
namespace {

void EnactSoftmax(Machine& m, const Call& call, Outputs& out) {
  TensorRef x = call.input(0);
  const bool casts_back = IntAttribute(call.node, "cast_back", 0) != 0;  // softmax(x, dtype=torch.float32).to(q.dtype)
  const bool half = IsHalf(x->dtype), half_to_float = IntAttribute(call.node, "half_to_float", 0) != 0;
  const bool widen = half && (m.autocast() || casts_back || half_to_float);
  const DType narrow = m.autocast().value_or(x->dtype);
  if (widen && x->dtype == DType::kBFloat16 && !half_to_float) x = ToCopy(m, x, DType::kFloat32);
  out[0] = Softmax(m, call.node.op == "softmax" ? "_softmax" : "_log_softmax", x, widen ? DType::kFloat32 : x->dtype);
  if (casts_back && out[0]->dtype != narrow) out[0] = ToCopy(m, out[0], narrow);
}

}  // namespace

TensorRef Softmax(Machine& m, std::string_view op, const TensorRef& x, DType dtype) {
  const bool log = op == "_log_softmax";
  NodeRef node = m.MakeNode(log ? "LogSoftmaxBackward0" : "SoftmaxBackward0", {x});
  TensorRef y = m.New(op, x->dims, dtype);
  node.Save(y);
  node.Output(y);
  node.Formula([log, x_dtype = x->dtype](Backward& b) {
    b.result(0, b.m.New(log ? "_log_softmax_backward_data" : "_softmax_backward_data", b.grad()->dims, x_dtype));
  });
  return y;
}

std::span<const OpRow> SoftmaxOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"log_softmax", EnactSoftmax},
      {"softmax", EnactSoftmax},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
