// What a tensor of a graph counts as where a runtime plans the memory of inference.
#ifndef ONNX_MEM_ANALYZER_MEMORY_TENSOR_CATEGORY_H_
#define ONNX_MEM_ANALYZER_MEMORY_TENSOR_CATEGORY_H_

#include <functional>
#include <optional>

#include "analyzer/graph/dag.h"
#include "analyzer/memory/program.h"

namespace onnx_mem {

// What an initializer or constant is; nullopt: it takes no device memory (shapes, axes). Empty: all are parameters.
using WeightCategory = std::function<std::optional<Category>(const Tensor&)>;

// nullopt: takes no memory.
std::optional<Category> InferenceCategory(const Tensor& tensor, const WeightCategory& weight_category);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_MEMORY_TENSOR_CATEGORY_H_
