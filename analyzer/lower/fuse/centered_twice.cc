// Normalisations written by hand subtract the mean twice, once for the variance and once for the result:
//
//   s = (x - u).pow(2).mean(1, keepdim=True); x = (x - u) / torch.sqrt(s + self.eps)
//
// TorchScript's exporter merges the two (common_subexpression_elimination.cpp); the framework ran and kept both. The
// form is that of BERT's first LayerNorm and of those that follow it: DeBERTa, ConvNeXt's and SAM's LayerNorm2d.
// The optimizer of dynamo's exporter merges them too (onnxscript's CSE pass), and leaves a gap in the numbers of its
// results: sub, sub_2, sub_4.
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

struct Variance {
  TensorId squared;  // what is squared and averaged
  NodeId mean;
};

// Behind `id`, sqrt(mean(squares) + eps) or its reciprocal; invalid for anything else.
Variance VarianceBehind(const Draft& draft, TensorId id) {
  NodeId root = draft.ProducerIf(id, "sqrt");
  if (!root.valid()) root = draft.ProducerIf(id, "rsqrt");
  const NodeId eps = root.valid() ? draft.ProducerIf(draft.node(root).inputs[0], "add_scalar") : NodeId();
  const NodeId mean = eps.valid() ? draft.ProducerIf(draft.node(eps).inputs[0], "mean") : NodeId();
  const NodeId square = mean.valid() ? draft.ProducerIf(draft.node(mean).inputs[0], "pow_scalar") : NodeId();
  return square.valid() ? Variance{draft.node(square).inputs[0], mean} : Variance{};
}

// Of all results, as they are before any normalisation is taken apart; collected when first requested, which most
// models never do.
class Names {
 public:
  explicit Names(const Draft& draft) : draft_(draft) {}

  bool Contain(const std::string& name) {
    if (!names_) names_ = Collected();
    return names_->contains(name);
  }

 private:
  absl::flat_hash_set<std::string> Collected() const {
    absl::flat_hash_set<std::string> names;
    for (NodeId id : draft_.InOrder()) {
      for (TensorId output : draft_.node(id).outputs) {
        if (output.valid()) names.insert(draft_.tensor(output).name);
      }
    }
    return names;
  }

  const Draft& draft_;
  std::optional<absl::flat_hash_set<std::string>> names_;
};

// The name that dynamo's exporter gives to the next result of the operator that made `name`: sub -> sub_1 -> sub_2.
std::string NextName(const std::string& name) {
  const size_t underscore = name.rfind('_');
  int64_t number = 0;
  if (underscore == std::string::npos || !absl::SimpleAtoi(name.substr(underscore + 1), &number))
    return absl::StrCat(name, "_1");
  return absl::StrCat(name.substr(0, underscore + 1), number + 1);
}

// `id` is (x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + eps), its two x - mean(x) one: they become two. The second
// runs before the root: Python computes what stands on the left first.
bool CenterTwice(Draft& draft, NodeId id, Names& names) {
  const FrameworkNode& quotient = draft.node(id);
  if (quotient.op != "div" && quotient.op != "mul") return false;
  const NodeId centered = draft.ProducerIf(quotient.inputs[0], "sub");
  const Variance variance = VarianceBehind(draft, quotient.inputs[1]);
  if (!centered.valid() || !variance.mean.valid() || variance.squared != quotient.inputs[0]) return false;
  const FrameworkNode& sub = draft.node(centered);
  const NodeId mean = draft.ProducerIf(sub.inputs[1], "mean");
  if (!mean.valid() || draft.node(mean).inputs[0] != sub.inputs[0] || sub.calls != quotient.calls) return false;
  const Tensor& tensor = draft.tensor(sub.outputs[0]);
  if (!quotient.framework_op.empty() && names.Contain(NextName(tensor.name))) return false;
  const TensorId again = draft.NewTensor(absl::StrCat(tensor.name, " again"), tensor.dtype, tensor.shape.dims);
  FrameworkNode second = sub;
  second.outputs = {again};
  Rank rank = draft.rank(variance.mean);
  ++rank.place;
  TensorIds inputs = quotient.inputs;
  inputs[0] = again;
  draft.Add(std::move(second), rank);
  draft.SetInputs(id, std::move(inputs));
  return true;
}

}  // namespace

int64_t CenterTwice(Lowering& lowering) {
  Names names(lowering.draft);
  int64_t count = 0;
  for (NodeId id : lowering.draft.InOrder()) {
    if (lowering.draft.alive(id) && CenterTwice(lowering.draft, id, names)) ++count;
  }
  return count;
}

}  // namespace onnx_mem
