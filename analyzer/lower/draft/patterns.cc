#include "analyzer/lower/draft/patterns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/lower/draft/match.h"

namespace onnx_mem {
namespace {

using Match = Expression::Match;

// The call of `fused`, with what `match` has under its names.
FrameworkNode MakeFused(const Draft& draft, const Expression& fused, std::string_view results, const Match& match) {
  const Expression::Term& call = fused.root();
  const NodeId of = call.name != 0 ? match.named.at(call.name) : NodeId();
  FrameworkNode node = of.valid() ? draft.node(of) : FrameworkNode();
  node.op = call.ops.front();
  node.inputs.clear();
  for (size_t operand : call.operands) {
    const Expression::Term& term = fused.term(operand);
    node.inputs.push_back(term.kind == Expression::Kind::kNumber ? TensorId() : match.tensors.at(term.name));
  }
  for (const Expression::AttributeTerm& attribute : call.attributes) {
    const std::optional<Attribute> value =
        attribute.name == 0 ? std::optional(attribute.value) : match.attributes.at(attribute.name);
    if (value) node.attributes.insert_or_assign(attribute.key, *value);
  }
  node.outputs = draft.node(match.nodes.back()).outputs;
  if (!results.empty()) node.outputs.clear();
  for (char name : results) node.outputs.push_back(draft.node(match.named.at(name)).outputs[0]);
  return node;
}

}  // namespace

Patterns::Patterns(std::span<const Pattern> rows, Order order) {
  for (const Pattern& row : rows) {
    rows_.push_back({row, Expression(row.expression, order), Expression(row.fused)});
    if (!rows_.back().expression.ok()) continue;
    for (const OpName op : rows_.back().expression.root().ops) by_root_[op].push_back(rows_.size() - 1);
  }
}

bool Patterns::ok() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.expression.ok() && row.fused.ok(); });
}

Patterns::Found Patterns::FindAt(const Draft& draft, NodeId root) const {
  const auto rows = by_root_.find(draft.node(root).op);
  if (rows == by_root_.end()) return {};
  for (size_t index : rows->second) {
    const Row& row = rows_[index];
    Match match;
    if (!row.expression.Matches(draft, root, row.pattern.together, row.pattern.results, match)) continue;
    FrameworkNode fused = MakeFused(draft, row.fused, row.pattern.results, match);
    if (row.pattern.accept != nullptr && !row.pattern.accept(draft, match, fused)) continue;
    return {&row, std::move(match), std::move(fused)};
  }
  return {};
}

NodeId Patterns::FuseAt(Draft& draft, NodeId root) const {
  Found found = FindAt(draft, root);
  if (found.row == nullptr) return NodeId();
  const char place = found.row->fused.root().name;
  const Rank rank = draft.rank(place != 0 ? found.match.named.at(place) : root);
  return Replace(draft, found.match.nodes, std::move(found.fused), rank);
}

NodeIds Patterns::Find(const Draft& draft) const {
  NodeIds roots = draft.InOrder();
  EraseIf(roots, [&](NodeId id) { return FindAt(draft, id).row == nullptr; });
  return roots;
}

NodeIds Patterns::Fuse(Draft& draft) const {
  NodeIds made;
  const NodeIds order = draft.InOrder();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    NodeId root = draft.alive(*id) ? FuseAt(draft, *id) : NodeId();
    while (root.valid()) {  // what was fused may be the root of a larger one
      made.push_back(root);
      root = FuseAt(draft, root);
    }
  }
  EraseIf(made, [&](NodeId id) { return !draft.alive(id); });
  if (!made.empty()) draft.RemoveUnread();
  return made;
}

}  // namespace onnx_mem
