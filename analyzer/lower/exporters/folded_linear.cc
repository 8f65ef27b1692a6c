// A linear layer whose input is stored (the coordinates that a network turns into position biases) has a result that
// dynamo's optimizer folds: what is left of the call is the sum with the bias.
//
//   add(val_4[1, 15, 15, 512], bias[512]) of the call "linear#linear"  ->  add(full[1, 15, 15, 512], bias[512])
//
// The framework computes the product in every step, so it is no stored tensor. The weight, whose width the file does
// not tell, is not counted.
#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool IsFoldedProduct(const Draft& draft, TensorId id, TensorId bias) {
  const Dims &product = draft.tensor(id).shape.dims, &shift = draft.tensor(bias).shape.dims;
  return draft.kind(id) == TensorKind::kBuffer && !draft.producer(id).valid() && IsFloating(draft.tensor(id).dtype) &&
         draft.kind(bias) == TensorKind::kParameter && !draft.producer(bias).valid() && product.size() > 1 &&
         shift.size() == 1 && product.back() == shift[0];
}

}  // namespace

int64_t ComputeFoldedLinear(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    const Node& sum = draft.node(id);
    if (sum.op != "add" || !absl::StartsWith(sum.framework_op, "linear#")) continue;
    for (size_t i = 0; i < 2; ++i) {
      const TensorId stored = sum.inputs[i];
      if (!IsFoldedProduct(draft, stored, sum.inputs[1 - i])) continue;
      const Tensor tensor = draft.tensor(stored);
      const TensorId product = draft.NewTensor(absl::StrCat(tensor.name, "/product"), tensor.dtype, tensor.shape.dims);
      Node full = MakeNodeInCallOf(sum, "full", {}, {product});
      Rank rank = draft.rank(id);
      --rank.place;
      std::vector<TensorId> inputs = sum.inputs;
      inputs[i] = product;
      draft.SetInputs(id, std::move(inputs));
      draft.Add(std::move(full), rank);
      ++count;
      break;
    }
  }
  return count;
}

}  // namespace onnx_mem
