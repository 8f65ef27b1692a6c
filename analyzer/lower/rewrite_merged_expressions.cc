// Exporters merge equal expressions: where two branches begin with relu(x) of the same x, the file computes it in one
// of them and lets the other read it. The framework ran both, and kept both for backward.
//
//   resblocks.0  leaky_relu(x) -> a; conv(a, resblocks.0.conv.weight)
//   resblocks.1                      conv(a, resblocks.1.conv.weight)   ->   its own leaky_relu(x)
//
// A value that one module hands to the next looks alike (T5's position bias, made in the first block). It is told from
// a merged one by two things: a merged expression reads only what came into the module, and what reads it elsewhere is
// a sibling, a module of the same name but for a number, that does in the same place what its own module does. Source:
// torch/csrc/jit/passes/common_subexpression_elimination.cpp, run by torch/onnx/utils.py (_optimize_graph).
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/lower/match.h"
#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "branch1x1" and "branch3x3" are alike, "conv" and "conv" are not: a sibling has a number.
bool AreAlike(const std::string& a, const std::string& b) {
  const auto without_digits = [](std::string text) {
    std::erase_if(text, IsDigit);
    return text;
  };
  return std::any_of(a.begin(), a.end(), IsDigit) && without_digits(a) == without_digits(b);
}

// Two modules that differ in one number: resblocks.0 and resblocks.1.
struct Siblings {
  std::string own, other;
};

std::optional<Siblings> SiblingModules(const std::string& own, const std::string& other) {
  const std::vector<std::string> a = absl::StrSplit(own, '.'), b = absl::StrSplit(other, '.');
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() || right == b.end() || !AreAlike(*left, *right)) return std::nullopt;
  return Siblings{absl::StrJoin(a.begin(), left + 1, "."), absl::StrJoin(b.begin(), right + 1, ".")};
}

bool IsWithin(const std::string& module, const std::string& outer) {
  return module == outer ||
         (module.size() > outer.size() && absl::StartsWith(module, outer) && module[outer.size()] == '.');
}

std::string Moved(const std::string& module, const Siblings& siblings) {
  return IsWithin(module, siblings.own) ? siblings.other + module.substr(siblings.own.size()) : module;
}

// Which operand of `node` the tensor is.
size_t Slot(const Node& node, TensorId id) {
  return static_cast<size_t>(std::find(node.inputs.begin(), node.inputs.end(), id) - node.inputs.begin());
}

bool IsRandom(const Node& node) { return node.op == "dropout" || node.op == "feature_dropout" || node.op == "random"; }

// True if all that `node` reads came into its module.
bool ReadsArgumentsOnly(const Draft& draft, const Node& node, const std::string& module) {
  return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
    if (!input.valid() || draft.kind(input) == TensorKind::kParameter) return false;
    const NodeId maker = draft.producer(input);
    return !maker.valid() || !IsWithin(draft.node(maker).module, module);
  });
}

// True if a reader in the module itself does what `reader` does in the sibling.
bool HasTwin(const Draft& draft, TensorId id, const Node& reader, const Siblings& siblings) {
  return std::any_of(draft.readers(id).begin(), draft.readers(id).end(), [&](NodeId other) {
    const Node& node = draft.node(other);
    return node.op == reader.op && IsWithin(node.module, siblings.own) &&
           Moved(node.module, siblings) == reader.module && Slot(node, id) == Slot(reader, id);
  });
}

// The readers in each sibling that computed the result of `id` itself, by the sibling's path.
std::map<std::string, std::pair<Siblings, std::vector<NodeId>>> OwnReaders(const Draft& draft, NodeId id) {
  std::map<std::string, std::pair<Siblings, std::vector<NodeId>>> found;
  const Node& node = draft.node(id);
  const TensorId result = node.outputs[0];
  for (NodeId reader : draft.readers(result)) {
    const std::optional<Siblings> siblings = SiblingModules(node.module, draft.node(reader).module);
    if (!siblings || !ReadsArgumentsOnly(draft, node, siblings->own)) continue;
    if (!HasTwin(draft, result, draft.node(reader), *siblings)) continue;
    found.try_emplace(siblings->other, *siblings, std::vector<NodeId>()).first->second.second.push_back(reader);
  }
  return found;
}

// Computes the result of `id` once more ahead of the first of `readers`, which read it then.
void Repeat(Draft& draft, NodeId id, const Siblings& siblings, const std::vector<NodeId>& readers) {
  Node copy = draft.node(id);
  const Tensor& tensor = draft.tensor(copy.outputs[0]);
  const TensorId old = copy.outputs[0];
  const TensorId result =
      draft.NewTensor(absl::StrCat(tensor.name, " in ", siblings.other), tensor.dtype, tensor.shape.dims);
  copy.outputs = {result};
  copy.name = absl::StrCat(copy.name, " in ", siblings.other);
  copy.module = Moved(copy.module, siblings);
  for (std::string& call : copy.calls) call = Moved(call, siblings);
  Rank rank = draft.rank(readers[0]);
  for (NodeId reader : readers) rank = std::min(rank, draft.rank(reader));
  --rank.place;
  draft.Add(std::move(copy), rank);
  for (NodeId reader : readers) {
    std::vector<TensorId> inputs = draft.node(reader).inputs;
    std::replace(inputs.begin(), inputs.end(), old, result);
    draft.SetInputs(reader, std::move(inputs));
  }
}

}  // namespace

// Later expressions first: what they read becomes the sibling's own in turn.
int64_t SplitMergedExpressions(Lowering& lowering) {
  Draft& draft = lowering.draft;
  int64_t count = 0;
  std::vector<NodeId> nodes = draft.InOrder();
  std::reverse(nodes.begin(), nodes.end());
  for (NodeId id : nodes) {
    const Node& node = draft.node(id);
    if (node.outputs.size() != 1 || node.module.empty() || IsRandom(node)) continue;
    if (draft.readers(node.outputs[0]).size() < 2 || draft.IsOutput(node.outputs[0])) continue;
    for (const auto& [path, found] : OwnReaders(draft, id)) {
      Repeat(draft, id, found.first, found.second);
      ++count;
    }
  }
  return count;
}

}  // namespace onnx_mem
