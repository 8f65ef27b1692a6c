// What a tensor of a lowered graph is to the framework; the word that lower and eager share.
#ifndef ONNX_MEM_ANALYZER_GRAPH_TENSOR_KIND_H_
#define ONNX_MEM_ANALYZER_GRAPH_TENSOR_KIND_H_

#include <cstdint>

namespace onnx_mem {

enum class TensorKind : uint8_t {
  kHost,        // Python numbers, shapes, or unused: no device memory
  kInput,       // fed by the caller
  kParameter,   // trained
  kBuffer,      // on the device, not trained: running statistics, masks, tables
  kActivation,  // made by a node
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_TENSOR_KIND_H_
