// Constant folding computes a weight that is made of parameters: torch.nn.utils.weight_norm's v / |v| * g. Every run
// computes it, and a training step keeps the result for the convolution's backward.
//
//   conv(x, onnx::Conv_436, pos_conv.bias)   ->   weight_norm(v, g) -> w; conv(x, w, pos_conv.bias)
//
// The name of the weight shows it (TorchScript). A folded BatchNorm, which gives the convolution a weight of such a
// name too, makes a new bias with it (exporters/folded_batch_norm.cc). In dynamo's export it is the name of the call
// that made it, and the module has parameters that the file has not:
//
//   linear(x, cat_4)                         ->   cat_4, which stands for them -> w; linear(x, w)
//
// A call that joins, repeats or picks may have been given less, or what the file has under another name: that both its
// whole size is lost and a copy is made counts too much. The two are expected to be one tensor, and to be two at the
// most (assume/choices/loose_parameters.h).
//
// Sources: torch/csrc/jit/passes/onnx/constant_fold.cpp and eval_peephole.cpp; onnxscript's _constant_folding.py.
#include <algorithm>
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

// A layer's weight that a call of more than a view gave, as the calls that read it say.
bool IsMadeOfLost(const Graph& source, const Draft& draft, TensorId id) {
  const std::string& name = draft.tensor(id).name;
  if (draft.kind(id) != TensorKind::kParameter || FoldedCall(name).empty() || NamesAlias(name)) return false;
  if (!IsLayerWeight(source, id)) return false;
  const NodeIds& readers = source.tensors[id].consumers;
  return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = source.nodes[reader];
    return !node.lost_parameter.empty() && IsArgumentOfCall(node, name);
  });
}

NodeId FirstReader(const Draft& draft, TensorId id) {
  const NodeIds& readers = draft.readers(id);
  return *std::min_element(readers.begin(), readers.end(),
                           [&](NodeId a, NodeId b) { return draft.rank(a) < draft.rank(b); });
}

// Of parameters that are as large together: they may be smaller (assume/choices/loose_parameters.h).
int64_t ComputeOfLost(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (TensorId id : lowering.source.initializers) {
    if (!IsMadeOfLost(lowering.source, draft, id) || draft.readers(id).empty()) continue;
    const NodeId first = FirstReader(draft, id);
    const Tensor stored = draft.tensor(id);
    const TensorId made = draft.NewTensor(absl::StrCat(stored.name, "/computed"), stored.dtype, stored.shape.dims);
    draft.ReplaceReaders(id, made);
    FrameworkNode compute = MakeNodeInCallOf(draft.node(first), "identity", {id}, {made});
    if (!NamesMore(stored.name)) {
      compute.op = "mul_scalar";
      compute.attributes["scalar"] = 1.0;
    }
    compute.name = stored.name;
    Rank rank = draft.rank(first);
    --rank.place;
    draft.Add(std::move(compute), rank);
    ++count;
  }
  return count;
}

}  // namespace

int64_t ComputeFoldedWeights(Lowering& lowering) {
  if (lowering.run.batch_norm == BatchNormMode::kUnfold) return 0;
  Draft& draft = lowering.draft;
  int64_t count = ComputeOfLost(lowering);
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
