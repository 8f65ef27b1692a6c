// Constant folding computes a weight that is made of parameters: torch.nn.utils.weight_norm's v / |v| * g. Every run
// computes it, and a training step keeps the result for the convolution's backward.
//
//   conv(x, onnx::Conv_436, pos_conv.bias)   ->   weight_norm(v, g) -> w; conv(x, w, pos_conv.bias)
//
// The name of the weight shows it (TorchScript). A folded BatchNorm, which gives the convolution a weight of such a
// name too, makes a new bias with it (exporters/folded_batch_norm.cc). Source:
// torch/csrc/jit/passes/onnx/constant_fold.cpp and eval_peephole.cpp.
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool HasFoldedWeightAlone(const Draft& draft, const FrameworkNode& node) {
  const bool transposed = node.op == "conv_transpose";
  if (node.op != "conv" && !transposed) return false;
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].valid();
  return IsFoldedOperand(draft.tensor(node.inputs[1]).name, transposed ? "ConvTranspose" : "Conv") &&
         draft.kind(node.inputs[1]) == TensorKind::kParameter && !(has_bias && IsFoldedBias(draft, node.inputs[2]));
}

// A length for each of the first dimension: the default of weight_norm.
Dims LengthDims(const Dims& weight) {
  Dims dims(weight.size(), 1);
  if (!dims.empty()) dims[0] = weight[0];
  return dims;
}

}  // namespace

int64_t ComputeFoldedWeights(Lowering& lowering) {
  if (lowering.run.batch_norm == BatchNormMode::kUnfold) return 0;
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (!HasFoldedWeightAlone(draft, draft.node(id))) continue;
    const FrameworkNode conv = draft.node(id);
    const Tensor v = draft.tensor(conv.inputs[1]);
    const TensorId g =
        draft.NewTensor(absl::StrCat(v.name, "/length"), v.dtype, LengthDims(v.shape.dims), TensorKind::kParameter);
    const TensorId weight = draft.NewTensor(absl::StrCat(v.name, "/computed"), v.dtype, v.shape.dims);
    FrameworkNode norm = MakeNodeInCallOf(conv, "weight_norm", {conv.inputs[1], g}, {weight});
    norm.name = absl::StrCat(conv.name, "/weight");
    Rank rank = draft.rank(id);
    --rank.place;
    TensorIds inputs = conv.inputs;
    inputs[1] = weight;
    draft.SetInputs(id, std::move(inputs));
    draft.Add(std::move(norm), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
