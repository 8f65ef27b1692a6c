// The part of locals.h about attention that is written out: which of its values have names.
//
//   x = windows(x); qkv = self.qkv(x); ...; x = attn @ v                   x has, until attention's result takes it
//                                                                          over
#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {

bool Locals::IsProduct(const FrameworkNode& node) {
  const bool contracts = node.op == "einsum" && node.inputs.size() == 2;
  return contracts || node.op == "matmul" || node.op == "bmm" || node.op == "sdpa";
}

// attn = attn + bias; attn = self.softmax(attn); x = attn @ v: one name for all, where dots = q @ k * self.scale is
// another than that of self.attend(dots).
bool Locals::IsSoftmaxOfSum(TensorId id) const {
  const FrameworkNode* maker = graph_.MakerOf(id);
  if (maker == nullptr || maker->op != "softmax") return false;
  maker = graph_.MakerOf(maker->inputs[0]);
  if (maker != nullptr && maker->op == "reshape") maker = graph_.MakerOf(maker->inputs[0]);
  return maker != nullptr && maker->op == "add";
}

}  // namespace onnx_mem::names
