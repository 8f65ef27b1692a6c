// nn.LSTMCell and nn.GRUCell, which exporters spell out and the framework runs as one kernel each on a GPU. Code that
// writes such a cell itself has other names for its weights. torch.onnx.export(dynamo=True) writes the Split without the
// call that it stands for, so not all operators of a cell bear its module.
//
//   i, f, g, o = split(h Whh^T + bhh + x Wih^T + bih)    c' = sigmoid(f) c + sigmoid(i) tanh(g)    h' = sigmoid(o)
//                                                                                                  tanh(c')
//   r, z, n of both products                             n' = tanh(n_x + r n_h)                    h' = (h - n') z + n'
#include <utility>

#include "absl/strings/match.h"
#include "analyzer/lower/draft/patterns.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// Inputs (x, h, c, w_ih, w_hh, b_ih, b_hh), of which either product may have been found first.
bool HasWeightsOfCell(const Draft& draft, const Expression::Match&, FrameworkNode& fused) {
  const auto is_named = [&](size_t slot, const char* name) {
    return absl::EndsWith(draft.tensor(fused.inputs[slot]).name, name);
  };
  const auto width = [&](TensorId id) {
    const Dims& dims = draft.tensor(id).shape.dims;
    return dims.empty() ? kUnknownDim : dims.back();
  };
  // Where names tell nothing, what is as wide as the new state may be the old one.
  const int64_t hidden = draft.has_opaque_names() ? width(fused.outputs[0]) : kUnknownDim;
  const bool is_turned = hidden != kUnknownDim && width(fused.inputs[0]) == hidden && width(fused.inputs[1]) != hidden;
  if (is_named(3, "weight_hh") || is_turned) {
    for (size_t slot : {size_t{0}, size_t{3}, size_t{5}}) std::swap(fused.inputs[slot], fused.inputs[slot + 1]);
  }
  if (draft.has_opaque_names()) return true;  // the range has code of the model's own
  return is_named(3, "weight_ih") && is_named(4, "weight_hh");
}

// The new c is read by the next step too.
constexpr Pattern kCells[] = {
    {"H:mul(sigmoid(S:split(add(linear|addmm(x,u,p?),linear|addmm(h,v,q?))).3),"
     "tanh(C:add(mul(sigmoid(S.1),c),mul(sigmoid(S),tanh(S.2)))))",
     "lstm_cell(x,h,c,u,v,p,q)", HasWeightsOfCell, Together::kAnywhere, "HC"},
    {"add(mul(sub(h,N:tanh(add(A:split(linear|addmm(x,u,p?)).2,mul(B:split(linear|addmm(h,v,q?)).2,"
     "sigmoid(add(A,B)))))),sigmoid(add(A.1,B.1))),N)",
     "gru_cell(x,h,_,u,v,p,q)", HasWeightsOfCell, Together::kAnywhere},
};

}  // namespace

int64_t FuseCells(Lowering& lowering) {
  static const auto& patterns = *new Patterns(kCells);
  return static_cast<int64_t>(patterns.Fuse(lowering.draft).size());
}

}  // namespace onnx_mem
