#include "report/compare/matching.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/compare/match.h"
#include "analyzer/order/stable_sort.h"
#include "report/parts/grouped.h"

namespace onnx_mem {
namespace {

// `names_only`: a saved report does not say what its layers run, so that all names are taken for paths.
std::vector<MatchUnit> UnitsOf(const std::vector<LayerFigures>& layers, bool names_only) {
  std::vector<MatchUnit> units;
  units.reserve(layers.size());
  for (const LayerFigures& layer : layers)
    units.push_back({names_only || layer.is_module ? layer.name : "", layer.name, layer.kind});
  return units;
}

std::vector<MatchUnit> UnitsOf(const std::vector<OperatorCall>& calls) {
  std::vector<MatchUnit> units;
  units.reserve(calls.size());
  for (const OperatorCall& call : calls) {
    units.push_back({call.module.empty() ? "" : absl::StrCat(call.module, "\n", call.op), call.node, call.op});
  }
  return units;
}

// Indices of base and head that are in no pair.
std::pair<std::vector<size_t>, std::vector<size_t>> Unmatched(const std::vector<MatchedPair>& pairs, size_t base_size,
                                                              size_t head_size) {
  std::vector<bool> base(base_size, false), head(head_size, false);
  for (const MatchedPair& pair : pairs) base[pair.base] = head[pair.head] = true;
  std::pair<std::vector<size_t>, std::vector<size_t>> left;
  for (size_t i = 0; i < base_size; ++i) {
    if (!base[i]) left.first.push_back(i);
  }
  for (size_t j = 0; j < head_size; ++j) {
    if (!head[j]) left.second.push_back(j);
  }
  return left;
}

void SortByChange(std::vector<LayerChange>& changes) {
  StableSort(changes, [](const LayerChange& a, const LayerChange& b) {
    return std::llabs(a.delta_bytes()) > std::llabs(b.delta_bytes());
  });
}

}  // namespace

std::vector<LayerChange> CompareLayers(const std::vector<LayerFigures>& base, const std::vector<LayerFigures>& head) {
  const auto without_kinds = [](const std::vector<LayerFigures>& layers) {
    return std::all_of(layers.begin(), layers.end(), [](const LayerFigures& layer) { return layer.kind.empty(); });
  };
  const bool names_only = without_kinds(base) || without_kinds(head);
  const std::vector<MatchedPair> pairs = MatchUnits(UnitsOf(base, names_only), UnitsOf(head, names_only));
  std::vector<LayerChange> changes;
  for (const auto& [i, j] : pairs) {
    changes.push_back({head[j].name, base[i].name, Presence::kBoth, base[i].bytes, head[j].bytes});
  }
  const auto [gone, added] = Unmatched(pairs, base.size(), head.size());
  for (size_t i : gone) changes.push_back({base[i].name, base[i].name, Presence::kGone, base[i].bytes, 0});
  for (size_t j : added) changes.push_back({head[j].name, "", Presence::kNew, 0, head[j].bytes});
  SortByChange(changes);
  return changes;
}

std::vector<OperatorChange> CompareCalls(const std::vector<OperatorCall>& base, const std::vector<OperatorCall>& head) {
  const std::vector<MatchedPair> pairs = MatchUnits(UnitsOf(base), UnitsOf(head));
  const auto [gone, added] = Unmatched(pairs, base.size(), head.size());
  std::vector<OperatorChange> changes;
  const auto count = [&](const OperatorCall& call, Presence presence) {
    auto at = std::find_if(changes.begin(), changes.end(), [&](const OperatorChange& change) {
      return change.op == call.op && change.presence == presence;
    });
    if (at == changes.end()) at = changes.insert(changes.end(), {call.op, presence, 0, 0});
    ++at->count;
    at->bytes += call.bytes;
  };
  for (size_t i : gone) count(base[i], Presence::kGone);
  for (size_t j : added) count(head[j], Presence::kNew);
  StableSort(changes, [](const OperatorChange& a, const OperatorChange& b) {
    return std::tie(a.bytes, a.count) > std::tie(b.bytes, b.count);
  });
  return changes;
}

// "" and node names, which start with a slash in exports of PyTorch, are no paths; neither is "(no module)".
bool IsPath(std::string_view name) { return !name.empty() && name.front() != '/' && name.front() != '('; }

namespace {

// Layers whose paths begin alike.
struct LayerGroup {
  LayerChange sum;
  std::vector<size_t> members;
  bool can_open = false;

  int64_t size() const { return std::llabs(sum.delta_bytes()); }
};

// Members of `of` by the first component of their path behind `prefix`.
std::vector<LayerGroup> SplitGroup(const std::vector<LayerChange>& layers, const std::vector<size_t>& of,
                                   std::string_view prefix) {
  Grouped<LayerGroup> groups;
  for (size_t member : of) {
    const LayerChange& layer = layers[member];
    std::string name = layer.name;
    const size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
    if (IsPath(name) && name.size() > begin) name = name.substr(0, name.find('.', begin));
    LayerGroup& group = groups[name];
    if (group.members.empty()) group.sum.presence = layer.presence;
    if (group.sum.presence != layer.presence) group.sum.presence = Presence::kBoth;
    group.sum.name = name;
    group.sum.base_name = group.sum.presence == Presence::kNew ? "" : name;
    group.sum.base_bytes += layer.base_bytes;
    group.sum.head_bytes += layer.head_bytes;
    group.members.push_back(member);
    group.can_open = group.can_open || layer.name != name;
  }
  std::vector<LayerGroup> list;
  for (const auto& [name, group] : groups.groups()) list.push_back(group);
  return list;
}

}  // namespace

std::vector<LayerChange> Coarse(const std::vector<LayerChange>& layers) {
  std::vector<size_t> all(layers.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::vector<LayerGroup> groups = SplitGroup(layers, all, "");
  while (!groups.empty()) {
    const auto largest = std::max_element(groups.begin(), groups.end(),
                                          [](const LayerGroup& a, const LayerGroup& b) { return a.size() < b.size(); });
    int64_t total = 0;
    for (const LayerGroup& group : groups) total += group.size();
    if (!largest->can_open || (groups.size() > 1 && 2 * largest->size() <= total)) break;
    const LayerGroup opened = *largest;
    groups.erase(largest);
    for (LayerGroup& part : SplitGroup(layers, opened.members, opened.sum.name)) {
      part.can_open = part.can_open && part.sum.name != opened.sum.name;
      groups.push_back(std::move(part));
    }
  }
  std::vector<LayerChange> coarse;
  for (const LayerGroup& group : groups) coarse.push_back(group.sum);
  SortByChange(coarse);
  return coarse;
}

}  // namespace onnx_mem
