#include "analyzer/study/axis.h"

#include <algorithm>

namespace onnx_mem {

int64_t SizeAlong(const Axis& axis, const Bindings& bindings, const ImportedModel& model) {
  if (axis.length.empty()) return std::max<int64_t>(bindings.batch.value_or(model.info.file_batch), 1);
  const auto bound = model.info.bound_dims.find(axis.length);
  return bound == model.info.bound_dims.end() ? 1 : std::max<int64_t>(bound->second, 1);
}

Bindings WithSize(const Axis& axis, Bindings bindings, const ImportedModel& model, int64_t before, int64_t size) {
  if (!axis.length.empty()) {
    bindings.dims[axis.length] = size;
    return bindings;
  }
  bindings.batch = size;
  for (TensorId id : model.graph.inputs) {
    const auto given = bindings.inputs.find(model.graph.tensors[id].name);  // weights may be given, too
    if (given == bindings.inputs.end() || given->second.empty()) continue;
    if (given->second.front() == before) given->second.front() = size;
  }
  return bindings;
}

}  // namespace onnx_mem
