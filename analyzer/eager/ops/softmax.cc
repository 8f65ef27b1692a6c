// Softmax and log-softmax: the result is saved and is contiguous. Under autocast a half input gives a float32 result by
// an argument of the kernel (fp32_set_opt_dtype), no cast copy.
// Sources: aten/src/ATen/native/SoftMax.cpp, aten/src/ATen/autocast_mode.h, tools/autograd/derivatives.yaml.
#include "analyzer/eager/ops/softmax.h"

#include <array>

#include "analyzer/eager/ops/families.h"

namespace onnx_mem::eager {
namespace {

void EnactSoftmax(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const bool widen = IsHalf(x->dtype) && (m.autocast() || IntAttribute(call.node, "half_to_float", 0) != 0);
  out[0] = Softmax(m, call.node.op == "softmax" ? "_softmax" : "_log_softmax", x, widen ? DType::kFloat32 : x->dtype);
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
