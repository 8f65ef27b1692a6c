// The names of a Python frame: which tensor each value of the graph stands for there.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_FRAME_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_FRAME_H_

#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/eager/engine/tensor.h"
#include "analyzer/graph/dag.h"

namespace onnx_mem::eager {

using Values = absl::flat_hash_map<TensorId, TensorRef>;

struct NameFrame {
  std::function<TensorRef(TensorId)> read;  // null: no such name
  std::function<void(TensorId, TensorRef)> write;
};

// A frame that knows `values` alone, which must outlive it.
inline NameFrame FrameOn(Values& values) {
  return {.read =
              [&values](TensorId id) {
                const auto it = values.find(id);
                return it != values.end() ? it->second : TensorRef();
              },
          .write = [&values](TensorId id, TensorRef t) { values[id] = std::move(t); }};
}

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_FRAME_H_
