#include "cli/answers/batch_dim.h"

#include <optional>
#include <vector>

namespace onnx_mem {
namespace {

std::optional<std::vector<Shape>> InputShapes(Study& study, const Bindings& bindings) {
  if (study.file().LeavesOpen(bindings)) return std::nullopt;
  const absl::StatusOr<Shared<ImportedModel>> model = study.Import(bindings);
  if (!model.ok()) return std::nullopt;
  const Graph& graph = (*model)->graph;
  std::vector<Shape> shapes;
  for (TensorId id : graph.inputs) shapes.push_back(graph.tensors[id].shape);
  return shapes;
}

}  // namespace

Bindings WithBatchOption(Study& study, const Bindings& bindings) {
  if (bindings.batch || bindings.dims.empty()) return bindings;
  const std::optional<std::vector<Shape>> requested = InputShapes(study, bindings);
  for (const auto& [symbol, value] : bindings.dims) {
    Bindings same = bindings;
    same.dims.erase(symbol);
    same.batch = value;
    if (requested && InputShapes(study, same) == requested) return same;
  }
  return bindings;
}

}  // namespace onnx_mem
