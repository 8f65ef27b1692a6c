// The part of locals.h about order: what cannot be a part of a larger expression has a name (expressions.h).
//
//   attn = a * self.p(x) + b * y      y was made before p(x): it has a name, and the sum took another, so y lives on
//   y = self.act(y)                   a statement on one name alone: it takes the name over
//   x = x.view(...)                   so does a view in another shape
#include <algorithm>
#include <array>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "analyzer/assume/names/contains.h"
#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
namespace {

// Views that stand in larger expressions: attn + mask.unsqueeze(1).
constexpr auto kInnerViews =
    std::to_array<std::string_view>({"unsqueeze", "squeeze", "slice", "select", "expand", "unbind"});
// Views that are statements of their own: q = q.view(...).transpose(1, 2).
constexpr auto kShapingViews = std::to_array<std::string_view>({"reshape", "permute"});
// Operators that join the parts of an expression.
constexpr auto kArithmetic = std::to_array<std::string_view>({"add", "sub", "mul", "div"});
constexpr auto kJoining = std::to_array<std::string_view>({"add", "sub", "mul", "div", "cat"});

}  // namespace

// A value that has a name at the moment that a statement of `home` reads it.
bool Locals::IsLeaf(TensorId id, const Home& home) const {
  if (!graph_.tensors[id].producer.valid() || needs_name_[id]) return true;
  return HomeOf(id).frame != home.frame || ReadingUnits(id, home).size() != 1 || IsJoinedList(id, home);
}

// Whether the expression that the unit ending at `unit_end` closes has more than one name in it.
bool Locals::TakesTwoNames(int32_t unit_end, const Home& home) const {
  const auto [known, fresh] = takes_two_names_.try_emplace({unit_end, home.depth}, false);
  if (!fresh) return known->second;
  TensorId first;
  absl::flat_hash_set<int32_t> seen = {unit_end};
  for (std::vector<int32_t> units = {unit_end}; !units.empty();) {
    const int32_t end = units.back();
    units.pop_back();
    const int32_t call = calls_.UnitCall(end, home.depth);
    const int32_t begin = call < 0 ? end : calls_.span(call).begin;
    for (int32_t i = begin; i <= end; ++i) {
      for (TensorId input : graph_.nodes[NodeId(i)].inputs) {
        if (!input.valid() || !graph_.tensors[input].producer.valid()) continue;
        const int32_t maker = graph_.tensors[input].producer.value();
        if (maker >= begin || input == first) continue;
        if (!IsLeaf(input, home)) {
          const int32_t unit = calls_.UnitEnd(maker, home.depth);
          if (seen.insert(unit).second) units.push_back(unit);
        } else if (first.valid()) {
          return known->second = true;
        } else {
          first = input;
        }
      }
    }
  }
  return false;
}

// The unit that takes the result of `unit`, if it is likely of the same expression: an operator that joins it with
// other parts, or a view on the way there. -1 if `unit` ends its statement.
int32_t Locals::NextInExpression(int32_t unit, const Home& home) const {
  const TensorId result = OnlyResult(unit, home.depth);
  if (!result.valid() || IsLeaf(result, home)) return -1;
  const int32_t next = ReadingUnits(result, home).front();
  if (calls_.UnitCall(next, home.depth) >= 0) return -1;
  const std::string& op = graph_.nodes[NodeId(next)].op;
  return Contains(kJoining, op) || Contains(kInnerViews, op) || Contains(kShapingViews, op) ? next : -1;
}

// for block in self.blocks: x = block(x)
// return self.head(self.norm(x)): the last statement of a model.
int32_t Locals::HeldByHead(TensorId id, const Home& home) const {
  const int32_t block = calls_.UnitCall(graph_.tensors[id].producer.value(), home.depth);
  if (home.depth != 0 || block < 0 || !IsElement(calls_.span(block).name)) return -1;
  const std::vector<int32_t> units = ReadingUnits(id, home);
  if (units.size() != 1 || calls_.UnitCall(units[0], 0) < 0) return -1;
  const std::string& op = graph_.nodes[NodeId(units[0])].op;
  if (op != "layer_norm" && op != "rms_norm") return -1;
  constexpr int kMostSteps = 4;  // x[:, 0]
  TensorId result = OnlyResult(units[0], 0);
  for (int step = 0; step < kMostSteps && result.valid(); ++step) {
    const std::vector<int32_t> next = ReadingUnits(result, home);
    if (next.size() != 1) return -1;
    if (calls_.UnitCall(next[0], 0) >= 0)
      return next[0] + 1 >= static_cast<int32_t>(graph_.nodes.size()) ? next[0] : -1;
    result = OnlyResult(next[0], 0);
  }
  return -1;
}

// joined = torch.cat(parts, 1), perhaps viewed in another shape: a list is joined in a statement of its own.
bool Locals::IsJoinedList(TensorId id, const Home& home) const {
  const Node* maker = Maker(id);
  while (maker != nullptr && Contains(kShapingViews, maker->op)) {
    id = maker->inputs[0];
    maker = Maker(id);
  }
  constexpr size_t kListSize = 3;
  return maker != nullptr && maker->op == "cat" && maker->inputs.size() >= kListSize &&
         HomeOf(id).frame == home.frame && calls_.UnitCall(graph_.tensors[id].producer.value(), home.depth) < 0;
}

// The unit that closes the expression which `unit` is a part of; -1 if a list of several parts is joined on the way:
// local_lists.cc knows more.
int32_t Locals::EndOfExpression(int32_t unit, const Home& home) const {
  std::vector<int32_t> parts;
  int32_t end = -1;
  for (int32_t next = unit; next >= 0; next = NextInExpression(next, home)) {
    if (const auto known = ends_.find({next, home.depth}); known != ends_.end()) {
      end = known->second;
      break;
    }
    parts.push_back(next);
    const Node& node = graph_.nodes[NodeId(next)];
    const bool joins = calls_.UnitCall(next, home.depth) < 0 && node.op == "cat" && node.inputs.size() > 2;
    end = joins ? -1 : next;
    if (joins) break;
  }
  for (int32_t part : parts) ends_[{part, home.depth}] = end;
  return end;
}

// Integers are indices, which functions of their own compute.
int32_t Locals::HeldOutOfOrder(TensorId id, const Home& home) const {
  if (!IsFloating(graph_.tensors[id].dtype)) return -1;
  const std::vector<int32_t> units = ReadingUnits(id, home);
  if (units.size() != 1) return -1;
  int32_t unit = units.front();
  const auto op = [&](int32_t of) {
    return calls_.UnitCall(of, home.depth) < 0 ? std::string_view(graph_.nodes[NodeId(of)].op) : std::string_view();
  };
  if (!needs_name_[id] && (!Contains(kArithmetic, op(unit)) || !IsJoinedList(id, home))) return -1;
  if (Contains(kShapingViews, op(unit))) return -1;
  unit = EndOfExpression(unit, home);
  if (unit < 0 || Contains(kInnerViews, op(unit)) || Contains(kShapingViews, op(unit))) return -1;
  return TakesTwoNames(unit, home) ? UntilRebound(id, home) : -1;
}

}  // namespace onnx_mem::names
