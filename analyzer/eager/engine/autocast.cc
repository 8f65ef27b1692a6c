// Autocast: operators of the low-precision list get cast copies of their fp32 arguments; the copy of a parameter is
// made once and cached until the context is left. Source: aten/src/ATen/autocast_mode.cpp (cached_cast).
#include <algorithm>

#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {

TensorRef Machine::AutocastLow(const TensorRef& t) {
  if (!autocast_ || t == nullptr || !IsFloating(t->dtype) || t->dtype == *autocast_ || t->dtype == DType::kFloat64) {
    return t;
  }
  // Parameters that would train are cached under no_grad as well.
  const bool parameter = run_.training ? t->is_leaf_parameter && t->requires_grad
                                       : recorder_.category(t->storage->buffer) == Category::kParameters;
  const bool cacheable = t->dtype == DType::kFloat32 && parameter && !t->is_view;
  if (!cacheable) return ToCopy(*this, t, *autocast_);
  auto it = autocast_cache_.find(t.get());
  if (it != autocast_cache_.end()) return it->second;
  return autocast_cache_.emplace(t.get(), ToCopy(*this, t, *autocast_)).first->second;
}

TensorRef Machine::AutocastHigh(const TensorRef& t) {
  if (!autocast_ || t == nullptr || !IsHalf(t->dtype)) return t;
  return ToCopy(*this, t, DType::kFloat32);
}

void Machine::SetAutocast(std::optional<DType> dtype) {
  autocast_ = dtype;
  if (!dtype) autocast_cache_.clear();
}

void Executor::ReleaseCasts() {
  for (NodeId id(0); graph_.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const FrameworkNode& node = graph_.nodes[id];
    if (node.op != "cast" || node.inputs.empty() || kinds_[node.inputs[0]] != TensorKind::kParameter) continue;
    const TensorIds& outputs = graph_.outputs;
    const bool returned = std::find(outputs.begin(), outputs.end(), node.outputs[0]) != outputs.end();
    if (!returned) values_[node.outputs[0]].reset();
  }
}

}  // namespace onnx_mem::eager
