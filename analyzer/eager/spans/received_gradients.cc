#include "analyzer/eager/spans/received_gradients.h"

#include <memory>
#include <utility>

#include "analyzer/eager/engine/autograd.h"

namespace onnx_mem::eager {

std::vector<BufferId> StoragesOf(const Executor& executor, const TensorIds& tensors) {
  std::vector<BufferId> storages;
  for (const TensorId id : tensors) {
    const TensorRef& value = executor.value(id);
    storages.push_back(value == nullptr ? BufferId() : value->storage->buffer);
  }
  return storages;
}

void RunReceivedBackward(Machine& m, Executor& executor, const TensorIds& outputs) {
  std::vector<std::pair<TensorRef, TensorRef>> roots;
  for (const TensorId id : outputs) {
    const TensorRef& value = executor.value(id);
    if (value == nullptr || !value->requires_grad) continue;
    auto root = std::make_shared<EagerTensor>();
    root->grad_edge = value->is_leaf_parameter ? m.EdgeToLeaf(value) : value->grad_edge;
    root->dims = value->dims;
    root->dtype = value->dtype;
    roots.emplace_back(std::move(root), nullptr);
  }
  executor.ReleaseOutputs();
  m.recorder().SetPhase(Phase::kBackward);
  m.SetGradEnabled(false);
  m.SetOrigin(nullptr);
  m.BeginStep("recv");
  for (auto& [root, gradient] : roots) {
    gradient = m.Allocate(root->dims, root->dtype);
    const BufferId buffer = gradient->storage->buffer;
    m.recorder().SetCategory(buffer, Category::kCommunication);
    m.recorder().SetName(buffer, "received gradient");
  }
  RunBackwardFrom(m, roots);
}

}  // namespace onnx_mem::eager
