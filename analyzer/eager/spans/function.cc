// torch.autograd.Function of the user's code: no gradients inside, one autograd node behind it, whose backward is the
// user's own.
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/eager/engine/without_grad.h"
#include "analyzer/eager/spans/spans.h"

namespace onnx_mem::eager {
namespace {

void RunBackwardOf(const UserFunction& function, Executor& executor, Values values, Backward& b) {
  for (size_t i = 0; i < function.saved.size(); ++i) values[function.saved[i]] = b.saved(i);
  for (size_t i = 0; i < function.gradients_of.size(); ++i) {
    const TensorMeta& meta = b.output_meta(i);  // zeros where no gradient arrived
    values[function.gradients_of[i].first] = b.grad(i) != nullptr ? b.grad(i) : b.m.New("zeros", meta.dims, meta.dtype);
  }
  NameFrame frame = FrameOn(values);
  frame.read = [&](TensorId id) {
    const auto it = values.find(id);
    return it != values.end() ? it->second : executor.value(id);
  };
  for (size_t i = 0; i < function.backward.size(); ++i) {
    const FrameworkNode& node = function.backward[i];
    Outputs outputs = executor.RunOperator(node, frame);
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (node.outputs[k].valid()) values[node.outputs[k]] = std::move(outputs[k]);
    }
    for (TensorId id : function.dropped[i]) values.erase(id);
  }
  for (size_t i = 0; i < function.gradients_to.size(); ++i) b.result(i, values[function.gradients_to[i].first]);
}

class Function : public SpanHook {
 public:
  Function(Executor& executor, const UserFunction& function) : executor_(executor), function_(function) {}

  void Before(const NameFrame&) override { inside_.emplace(executor_.machine()); }

  void After(const NameFrame& frame) override {
    inside_.reset();
    std::vector<TensorRef> arguments;
    for (const auto& [gradient, input] : function_.gradients_to) arguments.push_back(frame.read(input));
    NodeRef node = executor_.machine().MakeNode("UserFunctionBackward", arguments);
    if (!node) return;
    for (TensorId id : function_.saved) node.Save(frame.read(id));
    Values held;
    for (TensorId id : function_.held) held[id] = frame.read(id);
    for (const auto& [gradient, output] : function_.gradients_of) node.Output(frame.read(output));
    node.Formula([&executor = executor_, &function = function_, held = std::move(held)](Backward& b) {
      RunBackwardOf(function, executor, held, b);
    });
  }

 private:
  Executor& executor_;
  const UserFunction& function_;
  std::optional<WithoutGrad> inside_;
};

}  // namespace

std::shared_ptr<SpanHook> MakeFunction(Executor& executor, const UserFunction& function) {
  return std::make_shared<Function>(executor, function);
}

}  // namespace onnx_mem::eager
