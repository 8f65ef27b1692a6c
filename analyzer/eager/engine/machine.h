// The framework's state while a step is re-enacted: the recorder, the autograd graph, autocast.
// Operators (eager/operators, eager/views) are functions on it; they read like the framework's own:
//
//   void Relu(Machine& m, const Call& call, Outputs& out) {
//     NodeRef node = m.MakeNode("ReluBackward0", {x});   // nothing without a gradient to compute
//     TensorRef y = m.NewLike("relu", *x);               // one dispatched step, one buffer
//     node.Save(y);                                      // inputs are saved before the kernel, outputs after it
//     node.Output(y);
//     node.Formula([](Backward& b) { b.result(0, b.m.NewLike("threshold_backward", *b.grad())); });
//   }
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_MACHINE_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_MACHINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/eager/engine/autograd.h"
#include "analyzer/eager/engine/gradient_arrival.h"
#include "analyzer/eager/engine/recorder.h"
#include "analyzer/eager/engine/tensor.h"
#include "analyzer/run/run.h"

namespace onnx_mem::eager {

// Handle on an autograd node under construction. Invalid (all calls do nothing) when no argument needs a gradient.
class NodeRef {
 public:
  NodeRef() = default;
  NodeRef(Machine* m, int32_t index, std::shared_ptr<const void> share)
      : m_(m), index_(index), share_(std::move(share)) {}
  explicit operator bool() const { return m_ != nullptr; }
  // Holds `t` for backward; saved(i) of the formula counts calls. Null tensors keep their number.
  void Save(const TensorRef& t);
  // A small constant that the framework saves as a tensor of its own (a wrapped Python scalar: 8 bytes).
  void SaveScalar(int64_t bytes = 8);
  // `t` is the next output of the node.
  void Output(const TensorRef& t);
  void Formula(onnx_mem::eager::Formula formula);
  bool needs(size_t edge) const;

 private:
  Machine* m_ = nullptr;
  int32_t index_ = -1;
  std::shared_ptr<const void> share_;  // until the node has outputs that hold it
};

class SpanHook;

class Machine {
 public:
  explicit Machine(const Run& run) : run_(run) {}
  ~Machine() { closing_ = true; }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const Run& run() const { return run_; }
  Recorder& recorder() { return recorder_; }

  // --- tensors
  // Dispatches `op` and allocates its one result. Dense; contiguous unless `strides` are given.
  TensorRef New(std::string_view op, const Dims& dims, DType dtype, int64_t flops = 0);
  TensorRef New(std::string_view op, const Dims& dims, DType dtype, const Dims& strides, int64_t flops = 0);
  // As `t` in shape and memory order; dtype of `t` unless given.
  TensorRef NewLike(std::string_view op, const EagerTensor& t);
  TensorRef NewLike(std::string_view op, const EagerTensor& t, DType dtype);
  // Dispatches `op`. The span's hook may say that it does not run: then there is no step, and what would be allocated
  // is what the hook has kept, or has no bytes.
  void BeginStep(std::string_view op, int64_t flops = 0);
  // The operator is done. What follows runs.
  void EndDispatch() {
    runs_ = true;
    recorder_.SetMuted(false);
  }
  // The next result that is allocated is this one of what the operator returns.
  void SetNextOutput(int output) { next_output_ = output; }
  // The next result of the current step.
  TensorRef Allocate(const Dims& dims, DType dtype);
  TensorRef Allocate(const Dims& dims, DType dtype, const Dims& strides);
  // Another tensor on the same storage, without history.
  TensorRef Alias(const TensorRef& t, const Dims& dims, const Dims& strides, bool is_view = true);

  // Whether the tensor that wraps a Python number counts where autograd saves it. It lies on the host: tools that count
  // every storage see it, the device does not.
  void SetCountsNumbers(bool counts) { counts_numbers_ = counts; }
  bool counts_numbers() const { return counts_numbers_; }

  // Whether a node dies with the last that holds it. Where nobody knows when Python frees a name, a branch that
  // leads nowhere keeps what it saved.
  void SetDropsNodes(bool drops) { drops_nodes_ = drops; }

  // --- autograd
  void SetGradEnabled(bool enabled) { grad_enabled_ = enabled; }
  bool grad_enabled() const { return grad_enabled_; }
  bool NeedsGrad(std::initializer_list<const TensorRef*> inputs) const;
  // One edge per argument, in the framework's order of arguments.
  NodeRef MakeNode(std::string_view name, std::initializer_list<TensorRef> arguments);
  NodeRef MakeNode(std::string_view name, std::span<const TensorRef> arguments);
  // Most origins are among these; they must outlive the machine.
  void SetNodes(std::span<const FrameworkNode> nodes) {
    nodes_of_graph_ = nodes;
    texts_of_nodes_.resize(nodes.size());
  }
  void SetOrigin(const FrameworkNode* origin);
  const FrameworkNode* origin() const { return origin_; }
  AutogradNode& node(int32_t index) { return nodes_[static_cast<size_t>(index)]; }
  size_t num_nodes() const { return nodes_.size(); }
  // --- (engine/history.cc)
  // An edge to a node that somebody holds.
  Edge EdgeTo(int32_t index, int32_t output_nr);
  // The edge to the node that hands a gradient to a leaf; makes the node where there is none.
  Edge EdgeToLeaf(const TensorRef& leaf);
  void Save(int32_t node, const TensorRef& t);
  // How a node holds what no hook takes: a detached alias, the storage and not the tensor with its history.
  SavedTensor Hold(int32_t node, const TensorRef& t);
  void MarkSaved(int32_t node, const TensorRef& t);
  TensorRef Unpack(const SavedTensor& saved);
  // The node has computed, and what a hook gave it for what it saved is not read again: it is freed with the formula,
  // before results are fitted to what they are gradients of.
  void Drop(const std::vector<SavedTensor>& saved);
  void Release(std::vector<SavedTensor>& saved);
  // A leaf on the storage of `t`. TakeGradient: what has arrived at it, null where nothing has; after that it is none.
  TensorRef Detached(const TensorRef& t, bool requires_grad);
  TensorRef TakeGradient(const TensorRef& leaf);
  // The graph that was made since there were `first` nodes is gone.
  void ForgetNodes(size_t first);

  // The hook of the span that runs (spans/span_hook.h), which sees what is saved and made; null outside of any.
  void SetSpan(SpanHook* span) {
    span_ = span;
    EndDispatch();
  }
  SpanHook* span() const { return span_; }

  // --- gradients that parameters got (AccumulateGrad)
  void AccumulateGrad(const TensorRef& parameter, TensorRef grad);
  // `parameter` has a gradient from an earlier micro-step: what arrives is added to it in place.
  void HasGradient(const TensorRef& parameter, TensorRef grad) {
    with_gradient_.insert(parameter.get());
    gradients_.emplace_back(parameter.get(), std::move(grad));
  }
  const std::vector<std::pair<EagerTensor*, TensorRef>>& gradients() const { return gradients_; }
  const std::vector<GradientArrival>& arrivals() const { return arrivals_; }

  // --- autocast (engine/autocast.cc)
  // `t` as an operator of the low-precision list gets it: cast, once per parameter and context, or as it is.
  TensorRef AutocastLow(const TensorRef& t);
  // `t` as an operator of the fp32 list gets it.
  TensorRef AutocastHigh(const TensorRef& t);
  void SetAutocast(std::optional<DType> dtype);
  std::optional<DType> autocast() const { return autocast_; }

 private:
  // Who saves `t` for the autograd node, and what for.
  std::string Saver(int32_t index, const TensorRef& t);
  // A new node, and the first share in it.
  std::pair<int32_t, std::shared_ptr<const void>> AddNode(AutogradNode node);
  // Nobody holds the node any more: it dies with what it saved, and so do those that it alone led to.
  void DropNode(int32_t index);

  bool closing_ = false;                // what dies now dies with the machine
  std::vector<int32_t> dropped_nodes_;  // whose turn to go has not come
  bool dropping_ = false;
  bool drops_nodes_ = true;
  Run run_;
  Recorder recorder_;
  std::deque<AutogradNode> nodes_;
  std::vector<std::pair<EagerTensor*, TensorRef>> gradients_;
  std::vector<GradientArrival> arrivals_;
  absl::flat_hash_set<const EagerTensor*> with_gradient_;
  absl::flat_hash_map<const EagerTensor*, TensorRef> leaf_gradients_;  // of inputs that are detached
  const FrameworkNode* origin_ = nullptr;
  struct OriginTexts {
    SharedText node;
    SharedText module;
  };
  OriginTexts& TextsOf(const FrameworkNode& origin);
  // Of a node's steps and buffers, forward and backward.
  std::span<const FrameworkNode> nodes_of_graph_;
  std::vector<OriginTexts> texts_of_nodes_;
  absl::flat_hash_map<const FrameworkNode*, OriginTexts> other_texts_;
  SharedText last_module_;  // nodes of one module follow each other
  bool grad_enabled_ = true;
  bool counts_numbers_ = true;
  SpanHook* span_ = nullptr;
  bool runs_ = true;  // what was dispatched last
  int next_output_ = 0;
  std::optional<DType> autocast_;
  absl::flat_hash_map<const EagerTensor*, TensorRef> autocast_cache_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_MACHINE_H_
