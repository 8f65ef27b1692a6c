#include "analyzer/analysis/kept_gradients.h"

#include <memory>
#include <unordered_map>
#include <utility>

namespace onnx_mem {

std::vector<KeptGradient> KeptGradients(eager::Machine& m, const eager::Executor& executor) {
  std::vector<KeptGradient> kept;
  std::unordered_map<const eager::EagerTensor*, TensorIds> ids;
  for (TensorId id : executor.parameters()) ids[executor.value(id).get()].push_back(id);
  for (const auto& [parameter, grad] : m.gradients()) {
    for (TensorId id : ids[parameter]) {
      const std::string& name = m.recorder().program().buffers[grad->storage->buffer].name;
      kept.push_back({id, name, grad->storage->bytes, grad->dims, grad->dtype});
    }
  }
  return kept;
}

void TakeOver(const std::vector<KeptGradient>& gradients, eager::Machine& m, const eager::Executor& executor) {
  for (const KeptGradient& gradient : gradients) {
    auto t = std::make_shared<eager::EagerTensor>();
    t->dims = gradient.dims;
    t->strides = ContiguousStrides(t->dims);
    t->dtype = gradient.dtype;
    t->storage =
        m.recorder().AllocateStatic(Category::kGradients, gradient.name, gradient.bytes, gradient.dims, gradient.dtype);
    m.HasGradient(executor.value(gradient.parameter), std::move(t));
  }
}

}  // namespace onnx_mem
