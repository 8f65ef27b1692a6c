// The autograd graph and its engine, re-enacted: which node runs next, what it allocates, when the incoming gradient
// and the saved tensors are dropped, how gradients meet.
// Sources: torch/csrc/autograd/engine.cpp, input_buffer.cpp, functions/accumulate_grad.h, saved_variable.cpp.
//
// One node's turn, in this order:
//   formula    temporaries and results are allocated while the incoming gradient and all saved tensors live
//   validate   a result of another shape than the forward input is summed, of another dtype is cast: a new tensor each
//   drop       the incoming gradient is freed (its bytes too, unless a result aliases it)
//   release    all that the node saved is freed
//   hand on    results go to the consumers in edge order, meeting what has already arrived there
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_AUTOGRAD_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_AUTOGRAD_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "analyzer/eager/engine/tensor.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::eager {

class Machine;
class Backward;
class Packed;

using Formula = std::function<void(Backward&)>;

// A tensor held for backward; where the hook of a span took it, what the hook gave for it (spans/span_hook.h).
struct SavedTensor {
  TensorRef tensor;  // under checkpointing null; of an offloaded segment without a storage
  std::shared_ptr<Packed> packed = nullptr;
  int32_t slot = -1;  // of it among those that the hook took, where it counts them
};

struct TensorMeta {
  Dims dims;
  DType dtype = DType::kFloat32;
};

using TensorRefs = absl::InlinedVector<TensorRef, 3>;

struct AutogradNode {
  std::string_view name;                  // "ConvolutionBackward0"; empty for the accumulation node of a parameter
  const FrameworkNode* origin = nullptr;  // the lowered node whose forward made it
  absl::InlinedVector<Edge, 3> edges;     // per differentiable argument; node < 0 where no gradient is wanted
  std::vector<SavedTensor> saved;
  absl::InlinedVector<TensorMeta, 1> outputs;  // of the forward outputs, what incoming gradients must look like
  Formula formula;
  TensorRef parameter;               // of an accumulation node
  std::weak_ptr<const void> share;   // in this node, of those that hold it
  std::unique_ptr<TensorMeta> view;  // of a CopySlices node: what its operator wrote over (copy_slices.h)
  // Steps of its turn, once it had one: the formula's [begin, fits), then [fits, end) that fit results to what they are
  // gradients of. What a hook took is gone by then.
  StepId begin, fits, end;

  // Accumulation nodes come before everything else, others last made first.
  int64_t Priority(int32_t index) const { return parameter != nullptr ? std::numeric_limits<int64_t>::max() : index; }
};

// What a formula sees of its node's turn.
class Backward {
 public:
  Backward(Machine& machine, AutogradNode& node, std::span<const TensorRef> grads)
      : m(machine), node_(node), grads_(grads), results_(node.edges.size()) {}

  Machine& m;
  // Gradient of forward output `i`; null where nothing arrived.
  const TensorRef& grad(size_t i = 0) const { return grads_[i]; }
  // The i-th saved tensor. Under checkpointing the first call re-runs the segment.
  TensorRef saved(size_t i);
  const TensorMeta& output_meta(size_t i = 0) const { return node_.outputs[i]; }
  bool needs(size_t edge) const { return node_.edges[edge].node >= 0; }
  // The gradient of argument `edge`; dropped at once where none is wanted.
  void result(size_t edge, TensorRef grad) {
    if (needs(edge)) results_[edge] = std::move(grad);
  }
  TensorRefs& results() { return results_; }
  // What `formula` makes of `grads` at this node.
  TensorRefs ResultsOf(const Formula& formula, std::span<const TensorRef> grads) {
    Backward other(m, node_, grads);
    formula(other);
    return std::move(other.results_);
  }

 private:
  AutogradNode& node_;
  std::span<const TensorRef> grads_;
  TensorRefs results_;
};

// Runs backward from `loss`, with a gradient that lives until the end: `gradient`, else one of ones.
void RunBackward(Machine& m, const TensorRef& loss, const TensorRef& gradient = nullptr);
// Runs an engine within a formula, from tensors and their gradients.
void RunBackwardFrom(Machine& m, const std::vector<std::pair<TensorRef, TensorRef>>& roots);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_AUTOGRAD_H_
