#include "planner/measure/node_runs.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

constexpr size_t kMostPoints = 32;

bool IsActivation(const Tensor& tensor) { return tensor.role == TensorRole::kActivation && tensor.value == nullptr; }

// Points p such that exactly one activation is made before node p and read at p or later. Named nodes only: a segment
// is known by the names of its ends.
std::vector<int32_t> CrossingPoints(const FrameworkGraph& graph) {
  const auto count = static_cast<int32_t>(graph.nodes.size());
  std::vector<int32_t> crossing(static_cast<size_t>(count) + 1, 0);
  for (const Tensor& tensor : graph.tensors) {
    if (!IsActivation(tensor) || !tensor.producer.valid() || tensor.consumers.empty()) continue;
    ++crossing[static_cast<size_t>(tensor.producer.value()) + 1];
    --crossing[static_cast<size_t>(tensor.consumers.back().value()) + 1];
  }
  std::map<std::string, int> named;
  for (const FrameworkNode& node : graph.nodes) ++named[node.name];
  const auto unique = [&](int32_t node) {
    const std::string& name = graph.nodes[NodeId(node)].name;
    return !name.empty() && named[name] == 1;
  };
  std::vector<int32_t> points;
  int32_t crossed = 0;
  for (int32_t p = 0; p < count; ++p) {
    crossed += crossing[static_cast<size_t>(p)];
    if ((p == 0 || (crossed == 1 && unique(p - 1))) && unique(p)) points.push_back(p);
  }
  return points;
}

}  // namespace

std::vector<Candidate> NodeRuns(const FrameworkGraph& graph) {
  std::vector<int32_t> points = CrossingPoints(graph);
  if (points.empty()) return {};
  if (points.size() > kMostPoints) {  // an even choice by position
    std::vector<int32_t> some;
    for (size_t i = 0; i < kMostPoints; ++i) some.push_back(points[i * points.size() / kMostPoints]);
    points = std::move(some);
  }
  const auto count = static_cast<int32_t>(graph.nodes.size());
  if (!graph.nodes[NodeId(count - 1)].name.empty()) points.push_back(count);
  std::vector<Candidate> runs;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = points.size() - 1; j > i; --j) {
      if (points[j] - points[i] < 2) continue;
      Candidate run;
      run.first = points[i];
      run.last = points[j] - 1;
      run.segment.nodes = {graph.nodes[NodeId(run.first)].name, graph.nodes[NodeId(run.last)].name};
      run.label = absl::StrCat(run.segment.nodes.front(), " .. ", run.segment.nodes.back());
      run.is_run = j > i + 1;
      run.is_block = j == i + 1;
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace onnx_mem
