#include "analyzer/memory/tensor_category.h"

namespace onnx_mem {

std::optional<Category> InferenceCategory(const Tensor& tensor, const WeightCategory& weight_category) {
  switch (tensor.role) {
    case TensorRole::kInput: return Category::kInputs;
    case TensorRole::kActivation: return Category::kTransientActivations;
    case TensorRole::kInitializer:
    case TensorRole::kConstant: break;
  }
  return weight_category ? weight_category(tensor) : Category::kParameters;
}

}  // namespace onnx_mem
