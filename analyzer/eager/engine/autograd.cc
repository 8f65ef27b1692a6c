#include "analyzer/eager/engine/autograd.h"

#include <queue>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/views/views.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem::eager {
namespace {

// Gradients that wait for a node, by output of the forward operator.
using InputBuffer = absl::InlinedVector<TensorRef, 1>;

class Engine {
 public:
  explicit Engine(Machine& m) : m_(m), buffers_(m.num_nodes()), dependencies_(m.num_nodes(), 0) {}

  // From tensors and their gradients.
  void Run(const std::vector<std::pair<TensorRef, TensorRef>>& roots) {
    CountDependencies(roots);
    for (const auto& [root, grad] : roots) HandOn(root->grad_edge, grad);
    while (!ready_.empty()) {
      const int32_t index = ready_.top().second;
      ready_.pop();
      RunNode(index);
    }
  }

 private:
  void CountDependencies(const std::vector<std::pair<TensorRef, TensorRef>>& roots) {
    std::vector<int32_t> stack;
    std::vector<bool> seen(m_.num_nodes(), false);
    for (const auto& [root, grad] : roots) {
      const int32_t index = root->grad_edge.node;
      if (index < 0) continue;
      ++dependencies_[static_cast<size_t>(index)];
      if (!seen[static_cast<size_t>(index)]) stack.push_back(index);
      seen[static_cast<size_t>(index)] = true;
    }
    while (!stack.empty()) {
      const int32_t index = stack.back();
      stack.pop_back();
      for (const Edge& edge : m_.node(index).edges) {
        if (edge.node < 0) continue;
        const auto next = static_cast<size_t>(edge.node);
        ++dependencies_[next];
        if (seen[next]) continue;
        seen[next] = true;
        stack.push_back(edge.node);
      }
    }
  }

  void Push(int32_t index) { ready_.emplace(m_.node(index).Priority(index), index); }

  void RunNode(int32_t index) {
    AutogradNode& node = m_.node(index);
    InputBuffer grads = std::move(buffers_[static_cast<size_t>(index)]);
    grads.resize(node.outputs.size());
    if (node.parameter != nullptr) {
      if (grads[0] != nullptr) {
        TensorRef grad = std::move(grads[0]);
        m_.AccumulateGrad(node.parameter, std::move(grad));
      }
      return;
    }
    m_.SetOrigin(node.origin);
    TensorRefs results = Evaluate(node, grads);
    grads.clear();
    if (!m_.run().retain_graph) m_.Release(node.saved);
    for (size_t i = 0; i < results.size(); ++i) HandOn(node.edges[i], std::move(results[i]));
  }

  TensorRefs Evaluate(AutogradNode& node, const InputBuffer& grads) {
    Backward backward(m_, node, grads);
    const auto next_step = [&] { return m_.recorder().program().steps.next_id(); };
    node.begin = next_step();
    bool any = false;
    for (const TensorRef& grad : grads) any = any || grad != nullptr;
    if (any && node.formula) {
      // Generated code unpacks what is saved before it computes: under checkpointing the segment is re-run here.
      TensorRefs read(grads.begin(), grads.end());
      for (const SavedTensor& saved : node.saved) read.push_back(m_.Unpack(saved));
      const int64_t read_bytes = TotalBytes(read);
      read.clear();  // the formula must see the framework's reference counts
      const StepId before = m_.recorder().current_step();
      node.formula(backward);
      if (m_.recorder().current_step() != before) m_.recorder().AddMovedBytes(read_bytes);
      m_.Drop(node.saved);
    }
    TensorRefs results = std::move(backward.results());
    node.fits = next_step();
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr || node.edges[i].node < 0) continue;
      Validate(node.edges[i], results[i]);
      NameGradient(node.edges[i], *results[i]);
    }
    node.end = next_step();
    return results;
  }

  void NameGradient(const Edge& edge, const EagerTensor& grad) {
    const AutogradNode& next = m_.node(edge.node);
    Recorder& recorder = m_.recorder();
    if (recorder.IsNamed(grad.storage->buffer)) return;
    std::string_view of = next.origin != nullptr ? std::string_view(next.origin->name) : "the loss";
    if (next.parameter != nullptr) of = recorder.program().buffers[next.parameter->storage->buffer].name;
    recorder.SetName(grad.storage->buffer, absl::StrCat("gradient of ", onnx_mem::View(of)));
  }

  // validate_outputs in engine.cpp: what leaves a node has the shape and dtype of the forward's tensor.
  void Validate(const Edge& edge, TensorRef& grad) {
    const AutogradNode& next = m_.node(edge.node);
    const TensorMeta& meta = next.outputs[static_cast<size_t>(edge.output_nr)];
    if (!IsComplex(meta.dtype)) grad = RealPart(m_, grad);  // handle_r_to_c, in the formula
    if (grad->dims != meta.dims) {
      const bool fewer = grad->dims.size() > meta.dims.size();
      grad = m_.New("sum", meta.dims, grad->dtype);
      grad->is_view = fewer;  // at::sum_to keeps the reduced dimensions, and takes leading ones off by a view
    }
    if (grad->dtype != meta.dtype) grad = m_.NewLike("_to_copy", *grad, meta.dtype);
  }

  void HandOn(const Edge& edge, TensorRef grad) {
    if (edge.node < 0) return;
    if (grad != nullptr) Arrive(edge, std::move(grad));
    if (--dependencies_[static_cast<size_t>(edge.node)] == 0) Push(edge.node);
  }

  // InputBuffer::accumulate: in place only into a gradient that nobody else can see.
  void Arrive(const Edge& edge, TensorRef grad) {
    InputBuffer& buffer = buffers_[static_cast<size_t>(edge.node)];
    buffer.resize(m_.node(edge.node).outputs.size());
    TensorRef& first = buffer[static_cast<size_t>(edge.output_nr)];
    if (first == nullptr) {
      first = std::move(grad);
      return;
    }
    const bool in_place = first.use_count() == 1 && first->storage.use_count() == 1 && !first->is_view &&
                          IsNonOverlappingAndDense(*first);
    const int64_t bytes = DenseBytes(first->dims, first->dtype);
    if (in_place) {
      m_.BeginStep("add_");
      m_.recorder().AddMovedBytes(3 * bytes);
    } else {
      first = m_.New("add", first->dims, first->dtype, ElementwiseStrides(first->dims, {first.get(), grad.get()}));
      m_.recorder().AddMovedBytes(2 * bytes);
    }
  }

  Machine& m_;
  std::vector<InputBuffer> buffers_;
  std::vector<int32_t> dependencies_;
  std::priority_queue<std::pair<int64_t, int32_t>> ready_;
};

}  // namespace

TensorRef Backward::saved(size_t i) { return m.Unpack(node_.saved[i]); }

void RunBackward(Machine& m, const TensorRef& loss, const TensorRef& gradient) {
  m.recorder().SetPhase(Phase::kBackward);
  m.SetGradEnabled(false);
  m.SetOrigin(nullptr);
  TensorRef first = gradient;
  if (first == nullptr) {
    first = m.New("ones_like", loss->dims, loss->dtype);
    m.recorder().SetName(first->storage->buffer, "gradient of the loss");
  }
  if (loss->grad_edge.node < 0) return;
  Engine(m).Run({{loss, first}});
}

void RunBackwardFrom(Machine& m, const std::vector<std::pair<TensorRef, TensorRef>>& roots) { Engine(m).Run(roots); }

}  // namespace onnx_mem::eager
