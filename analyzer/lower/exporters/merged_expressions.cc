// Exporters merge equal expressions: where two branches begin with relu(x) of the same x, the file computes it in one
// of them and lets the other read it. The framework ran both, and kept both for backward.
//
//   resblocks.0  leaky_relu(x) -> a; conv(a, resblocks.0.conv.weight)
//   resblocks.1                      conv(a, resblocks.1.conv.weight)   ->   its own leaky_relu(x)
//
// The same in calls of one module: an attention that projects the same keys in every step of a decoder does so in the
// first call of the file, attention.keys(k), and in every call of the framework.
//
// A value that one module hands to the next looks alike (T5's position bias, made in the first block). It is known from
// a merged one by two things: a merged expression reads only what came into the module (and, in another call of the
// same module, its parameters), and what reads it elsewhere is a sibling that does in the same place what its own
// module does: a module of the same name but for a number, or one with the same parameters, or one whose reader has the
// parameter that this module's has, or another call of the module itself. Source:
// torch/csrc/jit/passes/common_subexpression_elimination.cpp, run by torch/onnx/utils.py (_optimize_graph);
// onnxscript's CSE pass in dynamo's exporter.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "branch1x1" and "branch3x3" are alike, "conv" and "conv" are not: a sibling has a number.
bool AreAlike(std::string_view a, std::string_view b) {
  return std::any_of(a.begin(), a.end(), IsDigit) && WithoutDigits(a) == WithoutDigits(b);
}

// The first `count` parts of a dotted path.
std::string Prefix(const std::string& path, size_t count) {
  const std::vector<std::string> parts = absl::StrSplit(path, '.');
  return absl::StrJoin(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(std::min(count, parts.size())), ".");
}

size_t NumParts(const std::string& path) { return static_cast<size_t>(std::count(path.begin(), path.end(), '.')) + 1; }

// Two modules that stand side by side, resblocks.0 and resblocks.1, or two calls of one.
struct Siblings {
  std::string own, other;            // paths of the modules; the same for two calls
  bool alike = false;                // their names say so
  int own_run = -1, other_run = -1;  // of two calls: which
  size_t depth = 0;                  // and how many calls are around them
};

// Which operand of `node` the tensor is.
size_t Slot(const FrameworkNode& node, TensorId id) {
  return static_cast<size_t>(std::find(node.inputs.begin(), node.inputs.end(), id) - node.inputs.begin());
}

bool IsRandom(const FrameworkNode& node) { return IsDropout(node.op) || node.op == "random"; }

class MergedExpressions {
 public:
  explicit MergedExpressions(Draft& draft) : draft_(draft) { NumberCalls(); }

  // Later expressions first: what they read becomes the sibling's own in turn.
  int64_t Split() {
    int64_t count = 0;
    NodeIds nodes = draft_.InOrder();
    std::reverse(nodes.begin(), nodes.end());
    for (NodeId id : nodes) {
      const FrameworkNode& node = draft_.node(id);
      if (node.outputs.size() != 1 || node.module.empty()) continue;
      if (draft_.readers(node.outputs[0]).size() < 2 || draft_.IsOutput(node.outputs[0])) continue;
      for (const auto& [key, found] : OwnReaders(id)) {
        Repeat(id, found.first, found.second);
        ++count;
      }
    }
    return count;
  }

 private:
  using Runs = absl::InlinedVector<int, 4>;
  using Readers = std::map<std::pair<std::string, int>, std::pair<Siblings, NodeIds>>;

  // A call continues while the operators that follow stand in it; what comes back to its module later is another call.
  void NumberCalls() {
    static const std::vector<std::string> kNone;
    const std::vector<std::string>* open = &kNone;
    Runs runs;
    int next = 0;
    for (NodeId id : draft_.InOrder()) {
      const std::vector<std::string>& calls = draft_.node(id).calls;
      if (calls.empty() && draft_.node(id).module.empty() && draft_.node(id).framework_op.empty()) continue;
      size_t common = 0;
      while (common < calls.size() && common < open->size() && calls[common] == (*open)[common]) ++common;
      runs.resize(common);
      while (runs.size() < calls.size()) runs.push_back(next++);
      open = &calls;
      runs_[id] = runs;
    }
  }

  int RunAt(NodeId id, size_t depth) const {
    auto it = runs_.find(id);
    return it == runs_.end() || depth >= it->second.size() ? -1 : it->second[depth];
  }

  // Two calls of one module, in the first of which `id` runs and in the second `reader`.
  std::optional<Siblings> SiblingCalls(NodeId id, NodeId reader) const {
    const FrameworkNode &node = draft_.node(id), &other = draft_.node(reader);
    size_t depth = 0;
    while (RunAt(id, depth) >= 0 && RunAt(id, depth) == RunAt(reader, depth)) ++depth;
    if (RunAt(id, depth) < 0 || RunAt(reader, depth) < 0) return std::nullopt;
    // What a call's name says about the path of its module, where containers do not hide.
    if (NumParts(node.calls.back()) != NumParts(node.module) ||
        NumParts(other.calls.back()) != NumParts(other.module)) {
      return std::nullopt;
    }
    const size_t parts = NumParts(node.calls[depth]);
    const std::string module = Prefix(node.module, parts);
    if (NumParts(other.calls[depth]) != parts || Prefix(other.module, parts) != module) return std::nullopt;
    return Siblings{module, module, true, RunAt(id, depth), RunAt(reader, depth), depth};
  }

  std::optional<Siblings> SiblingModules(NodeId id, NodeId reader) const {
    if (draft_.node(id).module == draft_.node(reader).module) return std::nullopt;
    const std::vector<absl::string_view> a = absl::StrSplit(draft_.node(id).module, '.');
    const std::vector<absl::string_view> b = absl::StrSplit(draft_.node(reader).module, '.');
    const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (left == a.end() || right == b.end()) return std::nullopt;
    return Siblings{absl::StrJoin(a.begin(), left + 1, "."), absl::StrJoin(b.begin(), right + 1, "."),
                    AreAlike({left->data(), left->size()}, {right->data(), right->size()})};
  }

  bool IsOwn(NodeId id, const Siblings& siblings) const {
    if (siblings.own_run >= 0) return RunAt(id, siblings.depth) == siblings.own_run;
    return IsAtOrBelow(draft_.node(id).module, siblings.own);
  }

  static std::string Moved(const std::string& path, const Siblings& siblings) {
    return IsAtOrBelow(path, siblings.own) ? siblings.other + path.substr(siblings.own.size()) : path;
  }

  // True if what `id` is made of came into its module: the same for the sibling.
  bool IsMadeOfArguments(NodeId id, const Siblings& siblings, int steps = 0) const {
    constexpr int kMostSteps = 12;
    const FrameworkNode& node = draft_.node(id);
    if (IsRandom(node) || steps == kMostSteps) return false;
    if (node.inputs.empty()) return node.op == "full" && siblings.alike;  // made of sizes alone, by each
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
      if (!input.valid()) return false;
      if (draft_.kind(input) == TensorKind::kParameter) return siblings.own_run >= 0;
      const NodeId maker = draft_.producer(input);
      return !maker.valid() || !IsOwn(maker, siblings) || IsMadeOfArguments(maker, siblings, steps + 1);
    });
  }

  // True if the two nodes read parameters that have one name in their modules, "gc1.weight" and "as1.weight".
  bool ReadLikeParameters(const FrameworkNode& node, const FrameworkNode& other, const Siblings& siblings) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
      if (!input.valid() || draft_.kind(input) != TensorKind::kParameter) return false;
      const std::string name = Moved(draft_.tensor(input).name, siblings);
      const size_t slot = Slot(node, input);
      return name != draft_.tensor(input).name && slot < other.inputs.size() && other.inputs[slot].valid() &&
             draft_.tensor(other.inputs[slot]).name == name;
    });
  }

  // Of the model as it is before any expression is split: no parameter is added or removed by that.
  std::set<std::string> FindParameters() const {
    std::set<std::string> names;
    for (NodeId id : draft_.InOrder()) {
      for (TensorId input : draft_.node(id).inputs) {
        if (input.valid() && draft_.kind(input) == TensorKind::kParameter) names.insert(draft_.tensor(input).name);
      }
    }
    return names;
  }

  // Names of the parameters in a module, from its path on.
  std::vector<std::string> ParametersOf(const std::string& module) const {
    if (!parameters_) parameters_ = FindParameters();
    std::vector<std::string> names;
    for (auto it = parameters_->lower_bound(module + "."); it != parameters_->end(); ++it) {
      if (!IsAtOrBelow(*it, module)) break;
      names.push_back(it->substr(module.size()));
    }
    return names;
  }

  // Modules of one class: attention_0 and out_att with .W and .a each.
  bool HaveSameParameters(const Siblings& siblings) const {
    constexpr size_t kFewest = 2;
    const std::vector<std::string> own = ParametersOf(siblings.own);
    return own.size() >= kFewest && own == ParametersOf(siblings.other);
  }

  // Names are alike, or something that the two read together was found to be merged, or their parameters are alike.
  bool IsStated(const Siblings& siblings) const {
    return siblings.alike || reported_.contains({siblings.own, siblings.other}) || HaveSameParameters(siblings);
  }

  // True if a reader in the module itself does what `reader` does in the sibling.
  bool HasTwin(TensorId id, NodeId reader, const Siblings& siblings) const {
    const FrameworkNode& other = draft_.node(reader);
    return std::any_of(draft_.readers(id).begin(), draft_.readers(id).end(), [&](NodeId own) {
      const FrameworkNode& node = draft_.node(own);
      return node.op == other.op && IsOwn(own, siblings) && Moved(node.module, siblings) == other.module &&
             Slot(node, id) == Slot(other, id) && (IsStated(siblings) || ReadLikeParameters(node, other, siblings));
    });
  }

  // The readers in each sibling that computed the result of `id` itself.
  Readers OwnReaders(NodeId id) const {
    Readers found;
    const TensorId result = draft_.node(id).outputs[0];
    for (NodeId reader : draft_.readers(result)) {
      std::optional<Siblings> siblings = SiblingCalls(id, reader);
      if (!siblings) siblings = SiblingModules(id, reader);
      if (!siblings || !IsMadeOfArguments(id, *siblings) || !HasTwin(result, reader, *siblings)) continue;
      const std::pair key(siblings->other, siblings->other_run);
      found.try_emplace(key, *siblings, NodeIds()).first->second.second.push_back(reader);
    }
    return found;
  }

  // The calls around `copy`, which stands in the first call of its module, in the call that `reader` stands in.
  static std::vector<std::string> CallsBeside(const FrameworkNode& copy, const FrameworkNode& reader, size_t depth) {
    std::vector<std::string> calls(reader.calls.begin(), reader.calls.begin() + static_cast<std::ptrdiff_t>(depth) + 1);
    const std::string& outer = calls.back();
    const size_t plain = copy.calls[depth].size();
    const std::string number = outer.size() > plain ? outer.substr(plain) : std::string();
    for (size_t i = depth + 1; i < copy.calls.size(); ++i) calls.push_back(absl::StrCat(copy.calls[i], number));
    return calls;
  }

  // Computes the result of `id` once more ahead of the first of `readers`, which read it then.
  void Repeat(NodeId id, const Siblings& siblings, const NodeIds& readers) {
    reported_.emplace(siblings.own, siblings.other);
    FrameworkNode copy = draft_.node(id);
    const Tensor& tensor = draft_.tensor(copy.outputs[0]);
    const TensorId old = copy.outputs[0];
    const bool calls = siblings.own_run >= 0;
    const std::string place = calls ? absl::StrCat(" in ", draft_.node(readers[0]).calls[siblings.depth], " of ",
                                                   draft_.node(readers[0]).name)
                                    : absl::StrCat(" in ", siblings.other);
    const TensorId result = draft_.NewTensor(absl::StrCat(tensor.name, place), tensor.dtype, tensor.shape.dims);
    copy.outputs = {result};
    copy.name = absl::StrCat(copy.name, place);
    copy.module = Moved(copy.module, siblings);
    if (calls) {
      copy.calls = CallsBeside(copy, draft_.node(readers[0]), siblings.depth);
      if (!copy.framework_op.empty()) absl::StrAppend(&copy.framework_op, " in call ", siblings.other_run);
    }
    for (std::string& call : copy.calls) call = Moved(call, siblings);
    Rank rank = draft_.rank(readers[0]);
    for (NodeId reader : readers) rank = std::min(rank, draft_.rank(reader));
    --rank.place;
    const NodeId added = draft_.Add(std::move(copy), rank);
    if (calls) {
      const Runs around = runs_.at(readers[0]);
      runs_[added].assign(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(siblings.depth) + 1);
    }
    for (NodeId reader : readers) {
      TensorIds inputs = draft_.node(reader).inputs;
      std::replace(inputs.begin(), inputs.end(), old, result);
      draft_.SetInputs(reader, std::move(inputs));
    }
  }

  Draft& draft_;
  mutable std::optional<std::set<std::string>> parameters_;  // names; for who asks first
  std::set<std::pair<std::string, std::string>> reported_;   // modules that run one expression each
  absl::flat_hash_map<NodeId, Runs> runs_;                   // the calls around a node, outermost first
};

}  // namespace

int64_t SplitMergedExpressions(Lowering& lowering) { return MergedExpressions(lowering.draft).Split(); }

}  // namespace onnx_mem
