// The TorchScript exporter joins a Concat with the one Concat that reads it (torch/csrc/jit/passes/onnx/peephole.cpp).
// The framework ran two, the first of them as soon as its parts were made. It shows where the parts are a positional
// encoding, whose sines and cosines stand together:
//
//   Concat(feature, d, sin(d), cos(d), sin(2d), cos(2d))   is   torch.cat([feature, encoding], -1)   (NeRF's view
//                                                                                                    directions)
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool IsWave(const Draft& draft, NodeId cat, TensorId part) {
  const NodeId maker = part.valid() && draft.OnlyReader(part) == cat ? draft.producer(part) : NodeId();
  if (!maker.valid() || !draft.node(maker).framework_op.empty()) return false;
  return draft.node(maker).op == "sin" || draft.node(maker).op == "cos";
}

// What a wave is a function of: x of sin(2 * x).
TensorId Argument(const Draft& draft, TensorId wave) {
  constexpr int kMostSteps = 3;
  TensorId at = draft.node(draft.producer(wave)).inputs[0];
  for (int step = 0; step < kMostSteps; ++step) {
    const NodeId maker = draft.producer(at);
    if (!maker.valid() || draft.node(maker).op != "mul_scalar") break;
    at = draft.node(maker).inputs[0];
  }
  return at;
}

struct Encoding {
  size_t first = 0, last = 0;  // operands of the Concat
};

// The longest row of waves of one argument, with the argument itself where it stands ahead of them. Empty if short.
Encoding FindEncoding(const Draft& draft, NodeId id) {
  constexpr size_t kShortest = 4;  // waves
  const std::vector<TensorId>& parts = draft.node(id).inputs;
  Encoding longest;
  for (size_t i = 0; i < parts.size();) {
    size_t end = i;
    while (end < parts.size() && IsWave(draft, id, parts[end]) &&
           Argument(draft, parts[end]) == Argument(draft, parts[i]))
      ++end;
    if (end - i >= kShortest && end - i > longest.last - longest.first) {
      const bool with_argument = i > 0 && parts[i - 1] == Argument(draft, parts[i]);
      longest = {with_argument ? i - 1 : i, end};
    }
    i = std::max(end, i + 1);
  }
  return longest;
}

}  // namespace

int64_t SplitFusedConcat(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  for (NodeId id : draft.InOrder()) {
    if (draft.node(id).op != "cat" || !draft.node(id).framework_op.empty()) continue;
    const Encoding found = FindEncoding(draft, id);
    std::vector<TensorId> parts = draft.node(id).inputs;
    if (found.last == 0 || found.last - found.first == parts.size()) continue;
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(found.first);
    const auto last = parts.begin() + static_cast<std::ptrdiff_t>(found.last);
    Node join = MakeNode("cat", {first, last}, {});
    const int64_t axis = IntAttribute(draft.node(id), "axis", 0);
    Rank rank;
    for (TensorId part : join.inputs) {
      if (draft.producer(part).valid()) rank = std::max(rank, draft.rank(draft.producer(part)));
    }
    Dims dims = draft.tensor(*first).shape.dims;
    if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) continue;
    for (auto part = first + 1; part != last; ++part) {
      dims[static_cast<size_t>(axis)] += draft.tensor(*part).shape.dims[static_cast<size_t>(axis)];
    }
    const Node& maker = draft.node(draft.producer(*(last - 1)));
    join.name = absl::StrCat(draft.node(id).name, " of ", maker.name);
    join.module = maker.module;
    join.calls = maker.calls;
    join.attributes = draft.node(id).attributes;
    const TensorId encoding = draft.NewTensor(join.name, draft.tensor(*first).dtype, std::move(dims));
    join.outputs.push_back(encoding);
    ++rank.place;
    draft.Add(std::move(join), rank);
    parts.erase(first, last);
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(found.first), encoding);
    draft.SetInputs(id, std::move(parts));
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
