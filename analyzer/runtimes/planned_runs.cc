#include "analyzer/runtimes/planned_runs.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/memory/liveness.h"
#include "analyzer/runtimes/planned_runtime.h"
#include "analyzer/runtimes/session_graph.h"
#include "analyzer/runtimes/session_plan.h"

namespace onnx_mem {
namespace {

// What the file's weights are to a runtime: parameters, buffers, or (shapes, axes) nothing that takes device memory.
std::function<std::optional<Category>(const Tensor&)> WeightCategories(const Graph& graph) {
  auto ids = std::make_shared<absl::flat_hash_map<std::string_view, TensorId>>();
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1))
    ids->emplace(graph.tensors[id].name, id);
  return [ids, &graph](const Tensor& tensor) -> std::optional<Category> {
    if (!IsFloating(tensor.dtype) && tensor.value != nullptr) return std::nullopt;
    const TensorKind kind = KindOfStored(graph, ids->at(tensor.name));
    return kind == TensorKind::kParameter ? Category::kParameters : Category::kBuffers;
  };
}

}  // namespace

MemoryProgram PlanStatically(const Graph& graph) {
  LivenessRules rules;
  rules.is_view = SharesItsInput;
  rules.may_overwrite = MayOverwriteItsInput;
  rules.weight_category = WeightCategories(graph);
  return ComputeLiveness(graph, rules);
}

namespace {

MemoryProgram PlanAsItStands(const Graph& graph, bool on_cpu, bool free_dims) {
  SessionRules rules;
  rules.is_view = SharesItsInput;
  rules.overwritable = SessionOverwrites;
  rules.weight_category = WeightCategories(graph);
  if (on_cpu) rules.scratch_bytes = SessionScratchBytes;
  const IdVector<TensorId, bool> known = ShapesKnownToSession(graph);
  if (free_dims) rules.knows_shape = [&known](TensorId id) { return known[id]; };
  return PlanSession(graph, rules);
}

}  // namespace

bool LeavesDimsFree(const ModelInfo& info) { return !info.bound_dims.empty() && !info.has_exporter_metadata; }

MemoryProgram PlanSessionRun(const Graph& graph, SessionOn on, bool free_dims) {
  if (on == SessionOn::kCpuAsInFile) return PlanAsItStands(graph, /*on_cpu=*/true, free_dims);
  return PlanAsItStands(SessionGraph(graph, on == SessionOn::kCpu, free_dims), on == SessionOn::kCpu, free_dims);
}

}  // namespace onnx_mem
