// Runs single framework operators on a Machine and tells what they saved and what their backward allocated, in the form
// of the measured tables: "mm:65536 mm:2048000 sum:4000", storages of more than 64 bytes in order.
#ifndef ONNX_MEM_TESTS_ANALYZER_EAGER_OPERATOR_RUN_H_
#define ONNX_MEM_TESTS_ANALYZER_EAGER_OPERATOR_RUN_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/eager/engine/loss.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/engine/op_table.h"

namespace onnx_mem::eager {

struct Argument {
  Dims dims;
  bool grad = true;
  DType dtype = DType::kFloat32;
};

class OperatorRun {
 public:
  explicit OperatorRun(const onnx_mem::Run& run = {}) : m_(run) {
    m_.recorder().BeginStep("statics");
    m_.SetAutocast(run.autocast);
  }

  Machine& machine() { return m_; }

  TensorRef Static(const Argument& argument) {
    auto t = std::make_shared<EagerTensor>();
    t->dims = argument.dims;
    t->strides = ContiguousStrides(t->dims);
    t->dtype = argument.dtype;
    t->storage =
        m_.recorder().AllocateStatic(Category::kInputs, "in", DenseBytes(t->dims, t->dtype), t->dims, t->dtype);
    t->requires_grad = argument.grad && IsFloating(argument.dtype);
    t->is_leaf_parameter = t->requires_grad;
    statics_.push_back(t);
    return t;
  }

  // The operator's outputs; `dims` and `dtype` as the graph would give them.
  std::vector<TensorRef> Apply(std::string_view op, const std::vector<TensorRef>& inputs, const std::vector<Dims>& dims,
                               const Attributes& attributes = {}, DType dtype = DType::kFloat32) {
    // Autograd nodes point at the node that made them.
    FrameworkGraph& graph = graphs_.emplace_back();
    FrameworkNode& node = nodes_.emplace_back();
    node.op = op;
    node.attributes = attributes;
    for (const Dims& d : dims) {
      Tensor tensor;
      tensor.dtype = dtype;
      tensor.shape.dims = d;
      node.outputs.push_back(graph.tensors.Add(std::move(tensor)));
    }
    Outputs outputs(dims.size());
    const OpRow* row = FindOp(op);
    if (row == nullptr) return outputs;
    m_.SetOrigin(&node);
    row->enact(m_, Call{graph, node, inputs}, outputs);
    m_.SetOrigin(nullptr);
    return outputs;
  }

  TensorRef One(std::string_view op, const std::vector<TensorRef>& inputs, const Dims& dims,
                const Attributes& attributes = {}, DType dtype = DType::kFloat32) {
    return Apply(op, inputs, {dims}, attributes, dtype)[0];
  }

  // Bytes of storages that autograd nodes hold, inputs among them or not.
  int64_t SavedBytes(bool with_inputs) {
    int64_t bytes = 0;
    for (const Buffer& buffer : m_.recorder().program().buffers) {
      const bool input = buffer.category == Category::kInputs;
      if (buffer.kept_by.starts_with("saved by") && (with_inputs || !input)) bytes += buffer.bytes;
    }
    return bytes;
  }

  std::string Allocations(size_t from_buffer, int64_t more_than = 64) {
    const MemoryProgram& program = m_.recorder().program();
    std::vector<std::string> all;
    for (BufferId id(static_cast<int32_t>(from_buffer)); program.buffers.contains(id); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = program.buffers[id];
      const std::string& op = program.steps[buffer.begin].op;
      if (buffer.bytes > more_than) all.push_back(absl::StrCat(op, ":", buffer.bytes));
    }
    return absl::StrJoin(all, " ");
  }

  size_t buffers() { return m_.recorder().program().buffers.size(); }

  // Backward from `out` with a gradient that the caller holds; what it allocated beside that gradient.
  std::string Backward(TensorRef out) {
    m_.SetAutocast(std::nullopt);
    const size_t before = buffers() + 1;
    RunBackward(m_, out);
    return Allocations(before);
  }

  // Most bytes made in backward that were alive together, the caller's gradient left out.
  int64_t BackwardPeak(TensorRef out) {
    const size_t before = buffers() + 1;
    const int32_t first_step = m_.recorder().current_step().value() + 1;
    RunBackward(m_, out);
    const MemoryProgram& program = m_.recorder().program();
    int64_t peak = 0;
    for (int32_t step = first_step; step <= m_.recorder().current_step().value(); ++step) {
      int64_t live = 0;
      for (size_t i = before; i < program.buffers.size(); ++i) {
        const Buffer& buffer = program.buffers[BufferId(static_cast<int32_t>(i))];
        if (buffer.begin.value() <= step && (!buffer.end.valid() || step < buffer.end.value())) live += buffer.bytes;
      }
      peak = std::max(peak, live);
    }
    return peak;
  }

 private:
  Machine m_;
  std::vector<TensorRef> statics_;
  std::deque<FrameworkGraph> graphs_;
  std::deque<FrameworkNode> nodes_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_TESTS_ANALYZER_EAGER_OPERATOR_RUN_H_
