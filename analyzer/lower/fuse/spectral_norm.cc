// Spectral normalisation divides a weight by its largest singular value, which a power iteration estimates. Exporters
// write the iteration as if it were differentiated; the framework runs it under no_grad, on vectors of its own:
//
//   u = normalize(mv(w, v)), v = normalize(mv(w', u))     no history, nothing kept
//   weight / dot(u, mv(w, v))                             w = weight as a matrix
//
// Source: torch/nn/utils/parametrizations.py (_SpectralNorm._power_method, forward); torch/nn/utils/spectral_norm.py
// (SpectralNorm.compute_weight) does the same.
#include <optional>
#include <set>
#include <vector>

#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// weight / dot(u, mv(matrix, v))
struct Normalised {
  TensorId weight, u, v;
  NodeId product;  // mv(matrix, v)
};

bool IsProduct(const Draft& draft, NodeId id, size_t rank) {
  return id.valid() && draft.node(id).op == "matmul" && draft.node(id).inputs.size() == 2 &&
         draft.tensor(draft.node(id).outputs[0]).shape.rank() == rank;
}

bool IsViewOf(const Draft& draft, TensorId id, TensorId of) {
  while (id != of && draft.producer(id).valid() && IsWholeView(draft.node(draft.producer(id)).op)) {
    id = draft.node(draft.producer(id)).inputs[0];
  }
  return id == of;
}

// All that `id` is computed from comes from the weight and stored vectors; views of the weight stay out of `nodes`.
bool IsOwn(const Draft& draft, TensorId id, const Normalised& of, std::set<NodeId>& nodes) {
  TensorIds left = {id};
  while (!left.empty()) {
    const TensorId next = left.back();
    left.pop_back();
    if (!next.valid() || IsViewOf(draft, next, of.weight)) continue;
    const NodeId maker = draft.producer(next);
    if (!maker.valid()) {
      if (draft.kind(next) == TensorKind::kInput) return false;
      continue;
    }
    if (!nodes.insert(maker).second) continue;
    left.insert(left.end(), draft.node(maker).inputs.begin(), draft.node(maker).inputs.end());
  }
  return true;
}

std::optional<Normalised> ReadNormalised(const Draft& draft, const FrameworkNode& div) {
  if (div.op != "div" || div.inputs.size() != 2) return std::nullopt;
  const NodeId dot = draft.producer(div.inputs[1]);
  if (draft.producer(div.inputs[0]).valid() || !IsProduct(draft, dot, 0)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const NodeId product = draft.producer(draft.node(dot).inputs[i]);
    if (!IsProduct(draft, product, 1)) continue;
    const TensorIds& factors = draft.node(product).inputs;
    if (!IsViewOf(draft, factors[0], div.inputs[0])) continue;
    return Normalised{div.inputs[0], draft.node(dot).inputs[1 - i], factors[1], product};
  }
  return std::nullopt;
}

}  // namespace

int64_t DetachPowerIterations(Lowering& lowering) {
  Draft& draft = lowering.draft;
  std::vector<Normalised> found;
  std::set<NodeId> differentiated;
  for (NodeId id : draft.InOrder()) {
    const std::optional<Normalised> one = ReadNormalised(draft, draft.node(id));
    if (!one) continue;
    found.push_back(*one);
    differentiated.insert(one->product);
  }
  int64_t count = 0;
  for (const Normalised& one : found) {
    std::set<NodeId> nodes;
    if (!IsOwn(draft, one.u, one, nodes) || !IsOwn(draft, one.v, one, nodes)) continue;
    for (NodeId id : nodes) {
      if (!differentiated.contains(id)) draft.mutable_node(id).attributes["requires_grad_none"] = int64_t{1};
    }
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
