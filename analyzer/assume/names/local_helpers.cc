// The part of locals.h about functions that are no modules, which leave no trace in a file but their repetition:
//
//   x1 = self.conv1(get_graph_feature(x))
//   x2 = self.conv2(get_graph_feature(x1))
//
// The same run of operators before calls that are no elements of one list, so no rounds of a loop: a function, whose
// names go when it returns.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
namespace {

struct OperatorRun {
  int32_t first = 0, last = 0;
  std::string next;  // the call behind it, without numbers of elements
};

}  // namespace

void Locals::FindHelpers() {
  constexpr int32_t kFewestOperators = 6;
  std::map<std::pair<int32_t, std::string>, std::vector<OperatorRun>> runs;  // by frame and operators
  const auto count = static_cast<int32_t>(graph_.nodes.size());
  for (int32_t first = 0; first < count;) {
    const size_t depth = calls_.of_node(first).size();
    const int32_t frame = calls_.FrameOf(first);
    std::string operators;
    int32_t end = first;
    for (; end < count && calls_.FrameOf(end) == frame; ++end) operators += graph_.nodes[NodeId(end)].op + " ";
    const int32_t next = end < count && calls_.of_node(end).size() >= depth ? calls_.UnitCall(end, depth) : -1;
    if (end - first >= kFewestOperators && next >= 0)
      runs[{frame, operators}].push_back({first, end - 1, WithoutElementNumbers(calls_.span(next).name)});
    first = end;
  }
  for (const auto& [key, same] : runs) {
    const auto is_before_another = [&](const OperatorRun& run) { return run.next != same[0].next; };
    if (std::none_of(same.begin(), same.end(), is_before_another)) continue;
    for (const OperatorRun& run : same) helpers_[run.first] = run.last;
  }
}

// The last node of the function whose value `id` is, unless it returns it; -1 if there is none.
int32_t Locals::EndOfHelper(TensorId id) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  auto helper = helpers_.upper_bound(maker);
  if (helper == helpers_.begin() || (--helper)->second < maker) return -1;
  for (NodeId reader : graph_.tensors[id].consumers) {
    if (reader.value() > helper->second) return -1;
  }
  return helper->second;
}

}  // namespace onnx_mem::names
