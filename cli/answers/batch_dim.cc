#include "cli/answers/batch_dim.h"

#include <optional>
#include <vector>

namespace onnx_mem {
namespace {

std::optional<std::vector<Shape>> InputShapes(const ModelFile& file, const Bindings& bindings) {
  if (file.LeavesOpen(bindings)) return std::nullopt;
  const absl::StatusOr<ImportedModel> model = file.Import(bindings);
  if (!model.ok()) return std::nullopt;
  std::vector<Shape> shapes;
  for (TensorId id : model->graph.inputs) shapes.push_back(model->graph.tensors[id].shape);
  return shapes;
}

}  // namespace

Bindings WithBatchOption(const ModelFile& file, const Bindings& bindings) {
  if (bindings.batch || bindings.dims.empty()) return bindings;
  const std::optional<std::vector<Shape>> asked = InputShapes(file, bindings);
  for (const auto& [symbol, value] : bindings.dims) {
    Bindings same = bindings;
    same.dims.erase(symbol);
    same.batch = value;
    if (asked && InputShapes(file, same) == asked) return same;
  }
  return bindings;
}

}  // namespace onnx_mem
