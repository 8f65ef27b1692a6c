// The part of locals.h about expressions: values that most likely have no name of their own.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/assume/names/contains.h"
#include "analyzer/assume/names/locals.h"

namespace onnx_mem::names {
namespace {

constexpr auto kActivations = std::to_array<std::string_view>(
    {"relu", "relu6", "leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish", "hardswish", "hardsigmoid",
     "tanh", "sigmoid", "softplus"});
constexpr auto kOfOneOperand =
    std::to_array<std::string_view>({"mul_scalar", "div_scalar", "add_scalar", "sub_scalar", "rsub_scalar",
                                     "pow_scalar", "neg", "exp", "sqrt", "rsqrt", "log", "abs"});
constexpr auto kArithmetic = std::to_array<std::string_view>({"add", "sub", "mul", "div"});
constexpr auto kTerms = std::to_array<std::string_view>({"cast", "full", "arange", "sigmoid"});  // a + torch.eye(n)
constexpr auto kTurning = std::to_array<std::string_view>({"unsqueeze", "squeeze", "permute", "reshape", "expand"});
constexpr auto kReductions = std::to_array<std::string_view>({"max_dim", "min_dim", "amax", "amin", "mean", "sum"});

bool IsTerm(const Node& node) {
  return Contains(kArithmetic, node.op) || Contains(kOfOneOperand, node.op) || Contains(kTerms, node.op);
}

}  // namespace

// a = self.a(x); b = self.b(y); torch.cat([a, b], 1): one of two values that were made for it alone.
// torch.cat([F.interpolate(x), y], 1) names none.
bool Locals::IsJoinedWithOther(TensorId id, const Home& home) const {
  const Tensor& tensor = graph_.tensors[id];
  const Node& node = graph_.nodes[tensor.consumers[0]];
  if (node.op != "cat" || Prepares(calls_.UnitEnd(tensor.producer.value(), home.depth), home.depth)) return false;
  const auto is_made_for_it = [&](TensorId input) {
    return input.valid() && graph_.tensors[input].producer.valid() && graph_.tensors[input].consumers.size() == 1;
  };
  return std::count_if(node.inputs.begin(), node.inputs.end(), is_made_for_it) == 2;
}

// x1 = self.conv1(x).max(dim=-1)[0]: nothing but a reduction reads it.
bool Locals::IsReduced(TensorId id) const {
  const NodeIds& readers = graph_.tensors[id].consumers;
  return readers.size() == 1 && Contains(kReductions, graph_.nodes[readers[0]].op);
}

// x = self.up(torch.cat([x, skip], 1)): what is joined for the next call alone stands in its arguments, or the call's
// result has its name. Of more than two values only where one is the encoder's: else they are a list.
bool Locals::IsJoinedForCall(TensorId id, const Home& home) const {
  const int32_t maker = graph_.tensors[id].producer.value();
  const Node& node = graph_.nodes[NodeId(maker)];
  if (node.op != "cat" || calls_.UnitCall(maker, home.depth) >= 0) return false;
  const Units units = ReadingUnits(id, home);
  const int32_t call = units.size() == 1 ? calls_.UnitCall(units[0], home.depth) : -1;
  if (call < 0 || calls_.span(call).begin != maker + 1) return false;
  return node.inputs.size() == 2 || std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
           return input.valid() && graph_.tensors[input].producer.valid() && ReadsLate(input, home);
         });
}

// F.relu(self.conv(x)), torch.exp(-0.5 * s), a * b - c: what one function or number takes at once, and nothing else,
// stands in the same expression, or its name is given anew. A piece of a split has its name from there, and a gate,
// gate * F.silu(up), often.
bool Locals::IsWithinExpression(TensorId id, const Home& home) const {
  const Tensor& tensor = graph_.tensors[id];
  if (IsJoinedForCall(id, home)) return true;
  if (tensor.consumers.size() != 1 || IsSplitPiece(id)) return false;
  const NodeId reader = tensor.consumers[0];
  if (calls_.of_node(reader.value()).size() != home.depth) return false;
  const Node& node = graph_.nodes[reader];
  const TensorId result = node.outputs[0];
  const int32_t made = calls_.UnitEnd(tensor.producer.value(), home.depth);
  int32_t next = made + 1;
  if (Contains(kArithmetic, node.op) && IsTerm(graph_.nodes[tensor.producer])) {
    while (next < reader.value() && Contains(kTurning, graph_.nodes[NodeId(next)].op)) ++next;  // a * b[:, None] * c
    return next == reader.value();
  }
  if (next != reader.value()) return false;
  if (Contains(kOfOneOperand, node.op)) return true;
  // self.up(torch.cat([F.interpolate(x), skip], 1))
  if (Prepares(made, home.depth) && result.valid() && IsJoinedForCall(result, HomeOf(result))) return true;
  if (!Contains(kActivations, node.op)) return false;
  const NodeIds& after = graph_.tensors[result].consumers;
  return after.size() != 1 || graph_.nodes[after[0]].op != "mul";
}

}  // namespace onnx_mem::names
