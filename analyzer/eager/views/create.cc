// Factories: a new tensor, no gradient. And the rule for an operator that has none.
#include <array>
#include <utility>
#include <vector>

#include "analyzer/eager/operators/families.h"

namespace onnx_mem::eager {
namespace {

void EnactFactory(Machine& m, const Call& call, Outputs& out) {
  m.BeginStep(call.node.op);
  const std::vector<int64_t> strides = IntsAttribute(call.node, "strides");  // of the first result, where not row-major
  for (size_t i = 0; i < out.size(); ++i) {
    if (!call.node.outputs[i].valid()) continue;
    const bool like = IntAttribute(call.node, "like_input", 0) != 0 && call.input(0) != nullptr;
    out[i] = m.Allocate(call.output_dims(i), like ? call.input(0)->dtype : call.output(i).dtype,
                        i == 0 ? Dims(strides.begin(), strides.end()) : Dims());
  }
}

// A part of the graph that runs as one step (a loop, a branch): its outputs, and a workspace while it runs.
void EnactOpaque(Machine& m, const Call& call, Outputs& out) {
  EnactFactory(m, call, out);
  const TensorRef workspace = m.Allocate(Dims{IntAttribute(call.node, "workspace_bytes", 0)}, DType::kUInt8);
}

// Marks what is allocated meanwhile as assumed.
class Assumed {
 public:
  explicit Assumed(Machine& m) : recorder_(m.recorder()) { recorder_.SetAssumed(true); }
  ~Assumed() { recorder_.SetAssumed(false); }
  Assumed(const Assumed&) = delete;
  Assumed& operator=(const Assumed&) = delete;

 private:
  Recorder& recorder_;
};

void EnactAssumed(Machine& m, const Call& call, Outputs& out) {
  const Assumed assumed(m);
  NodeRef node = m.MakeNode("AssumedBackward", call.inputs);
  for (const TensorRef& input : call.inputs) node.Save(input);
  m.BeginStep(call.node.op);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!call.node.outputs[i].valid()) continue;
    out[i] = m.Allocate(call.output_dims(i), call.output(i).dtype);
    if (IsDifferentiable(out[i]->dtype)) node.Output(out[i]);
  }
  node.Formula([count = call.inputs.size()](Backward& b) {
    const Assumed assumed(b.m);
    for (size_t i = 0; i < count; ++i) {
      if (!b.needs(i)) continue;
      const TensorRef input = b.saved(i);
      b.result(i, b.m.NewLike("assumed_backward", *input));
    }
  });
}

// A torch.autograd.Function: forward() runs without autograd, with temporaries of its own, which its backward() makes
// again from what was saved.
void EnactCustomFunction(Machine& m, const Call& call, Outputs& out) {
  const bool saves = StringAttribute(call.node, "saves", "inputs") == "inputs";
  const int64_t workspace_bytes = IntAttribute(call.node, "workspace_bytes", 0);
  NodeRef node = m.MakeNode("CustomFunctionBackward", call.inputs);
  for (const TensorRef& input : call.inputs) {
    if (saves) node.Save(input);
  }
  m.BeginStep(call.node.op);
  if (IntAttribute(call.node, "saves_made", 0) != 0) {
    node.Save(m.Allocate(Dims{IntAttribute(call.node, "made_bytes", 0)}, DType::kUInt8));
  }
  const TensorRef workspace = m.Allocate(Dims{workspace_bytes}, DType::kUInt8);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!call.node.outputs[i].valid()) continue;
    out[i] = m.Allocate(call.output_dims(i), call.output(i).dtype);
    if (IsDifferentiable(out[i]->dtype)) node.Output(out[i]);
  }
  std::vector<std::pair<Dims, DType>> kinds;
  for (const TensorRef& input : call.inputs) kinds.emplace_back(input->dims, input->dtype);
  node.Formula([kinds, workspace_bytes](Backward& b) {
    const TensorRef again = b.m.New("custom_function_backward", Dims{workspace_bytes}, DType::kUInt8);
    for (size_t i = 0; i < kinds.size(); ++i) {
      if (b.needs(i)) b.result(i, b.m.New("custom_function_backward", kinds[i].first, kinds[i].second));
    }
  });
}

}  // namespace

std::span<const OpRow> CreateOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"arange", EnactFactory, 0},
      {"empty", EnactFactory, 0},
      {"full", EnactFactory, 0},
      {"random", EnactFactory, 0},
      {"zeros_like", EnactFactory, 0},
  });
  return kRows;
}

std::span<const OpRow> DefaultOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"assumed", EnactAssumed, 0},
      {"custom_function", EnactCustomFunction, 0},
      {"opaque", EnactOpaque, 0},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
