// LSTM, GRU and RNN over all steps (cells.h: one): a layer of the file, and a whole stack of layers.
#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/eager/operators/dropout.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/recurrent/cells.h"
#include "analyzer/eager/views/shape.h"
#include "analyzer/eager/views/views.h"
#include "analyzer/run/limits.h"

namespace onnx_mem::eager {
namespace {

// `count` equal parts of a parameter that the file stores in one piece. Gradients are put together again.
std::vector<TensorRef> Parts(Machine& m, const TensorRef& t, size_t count, const Dims& dims) {
  if (count == 1) return {t->dims == dims ? t : View(m, t, dims)};
  NodeRef node = m.MakeNode("SplitBackward0", {t});
  std::vector<TensorRef> parts(count);
  for (TensorRef& part : parts) {
    part = m.Alias(t, dims, ContiguousStrides(dims));
    node.Output(part);
  }
  node.Formula(
      [meta = TensorMeta{t->dims, t->dtype}](Backward& b) { b.result(0, b.m.New("cat", meta.dims, meta.dtype)); });
  return parts;
}

// The parts that `stored` tensors from `next` on give together, `count` of them.
std::vector<TensorRef> Take(Machine& m, const std::vector<TensorRef>& stored, size_t& next, size_t count,
                            const Dims& dims) {
  std::vector<TensorRef> parts;
  while (parts.size() < count && next < stored.size()) {
    const auto held = static_cast<size_t>(Quotient(NumElements(stored[next]->dims), NumElements(dims)));
    for (TensorRef& part : Parts(m, stored[next], std::clamp<size_t>(held, 1, count), dims))
      parts.push_back(std::move(part));
    ++next;
  }
  parts.resize(count);
  return parts;
}

// Stored tensors stand in the order input weights, state weights, biases; each may be split by direction or not.
RecurrentLayer LayerOf(Machine& m, const Call& call, int64_t input_size) {
  RecurrentLayer layer;
  layer.kind = call.node.op == "lstm" ? "lstm" : (call.node.op == "gru" ? "gru" : "rnn");
  layer.gates = layer.kind == "lstm" ? 4 : (layer.kind == "gru" ? 3 : 1);
  layer.hidden = IntAttribute(call.node, "hidden", 0);
  layer.directions = IntAttribute(call.node, "bidirectional", 0) != 0 ? 2 : 1;
  const auto count = static_cast<size_t>(IntAttribute(call.node, "weights", 3));
  std::vector<TensorRef> stored;
  for (size_t i = 1; i <= count && i < call.inputs.size(); ++i) {
    if (call.inputs[i] != nullptr) stored.push_back(call.inputs[i]);
  }
  const int64_t rows = layer.gates * layer.hidden;
  size_t next = 0;
  const std::vector<TensorRef> ih = Take(m, stored, next, layer.directions, Dims{rows, input_size});
  const std::vector<TensorRef> hh = Take(m, stored, next, layer.directions, Dims{rows, layer.hidden});
  const std::vector<TensorRef> biases = Take(m, stored, next, 2 * layer.directions, Dims{rows});
  for (size_t d = 0; d < layer.directions; ++d) {
    layer.weights.push_back({ih[d], hh[d], biases[2 * d], biases[2 * d + 1]});
  }
  return layer;
}

// One direction over the steps of x [T, B, I]: the results stacked [T, B, H], and the last state. `results` gets those
// of each step.
TensorRef RunDirection(Machine& m, const RecurrentLayer& layer, size_t direction, const std::vector<TensorRef>& steps,
                       RecurrentState& state, std::vector<TensorRef>& results) {
  results.resize(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const size_t t = direction == 0 ? i : steps.size() - 1 - i;
    state = RunCell(m, layer, layer.weights[direction], steps[t], state);
    results[t] = state.h;
  }
  return Stack(m, results, 0);
}

// The initial state number `which` (0: h, 1: c) of every direction: given, or zeros.
std::vector<TensorRef> InitialStates(Machine& m, const Call& call, const RecurrentLayer& layer, const TensorRef& x,
                                     size_t which) {
  const size_t at = 1 + static_cast<size_t>(IntAttribute(call.node, "weights", 3)) + which;
  TensorRef all = call.input(at);
  const auto directions = static_cast<int64_t>(layer.directions);
  if (all == nullptr) all = m.New("zeros", Dims{directions, x->dims[1], layer.hidden}, x->dtype);
  std::vector<TensorRef> states;
  for (int64_t d = 0; d < directions; ++d) states.push_back(SelectView(m, all, 0));
  return states;
}

// [T, B, D * H] as the file's operator gives it: [T, D, B, H], or [B, T, D, H] when the batch stands first.
TensorRef FileLayout(Machine& m, const TensorRef& y, const RecurrentLayer& layer, bool batch_first) {
  const Dims dims{y->dims[0], y->dims[1], static_cast<int64_t>(layer.directions), layer.hidden};
  return Permute(m, View(m, y, dims), batch_first ? Dims{1, 0, 2, 3} : Dims{0, 2, 1, 3});
}

// Steps to run, and states [directions, B, H]; what a malformed file has else is left to what it says of the results.
bool IsRecurrence(const Call& call, const TensorRef& x) {
  constexpr int64_t kMostFeatures = int64_t{1} << 31;
  const int64_t hidden = IntAttribute(call.node, "hidden", 0);
  if (x->dims[0] < 1 || hidden < 1 || hidden > kMostFeatures || x->dims[2] > kMostFeatures) return false;
  const auto states = 1 + static_cast<size_t>(IntAttribute(call.node, "weights", 3));
  for (size_t i = states; i < call.inputs.size(); ++i) {
    if (call.inputs[i] != nullptr && call.inputs[i]->dims.size() != 3) return false;
  }
  return true;
}

// What a layer gives for `steps`; the last states of its directions join `last_h` and `last_c`. FullBidirectionalLayer
// keeps what both directions gave per step until it has joined them; FullLayer returns the stack.
TensorRef RunLayer(Machine& m, const RecurrentLayer& layer, const std::vector<TensorRef>& steps,
                   std::span<const RecurrentState> states, std::vector<TensorRef>& last_h,
                   std::vector<TensorRef>& last_c) {
  std::vector<TensorRef> results;
  std::vector<std::vector<TensorRef>> of_steps(layer.directions);
  for (size_t d = 0; d < layer.directions; ++d) {
    RecurrentState state = states[d];
    results.push_back(RunDirection(m, layer, d, steps, state, of_steps[d]));
    last_h.push_back(state.h);
    last_c.push_back(state.c);
  }
  return layer.directions == 1 ? results[0] : Cat(m, results, 2);
}

// Inputs: x, the weights (attribute "weights" counts them), initial states. Outputs: all h, last h, last c.
void EnactRecurrent(Machine& m, const Call& call, Outputs& out) {
  const bool batch_first = IntAttribute(call.node, "batch_first", 0) != 0;
  const TensorRef x = batch_first ? Transpose(m, call.input(0), 0, 1) : call.input(0);
  if (!IsRecurrence(call, x)) return;
  const RecurrentLayer layer = LayerOf(m, call, x->dims[2]);
  const bool complete = std::all_of(layer.weights.begin(), layer.weights.end(),
                                    [](const CellWeights& w) { return w.ih != nullptr && w.hh != nullptr; });
  if (!complete) return;
  const std::vector<TensorRef> h = InitialStates(m, call, layer, x, 0);
  const std::vector<TensorRef> c =
      layer.kind == "lstm" ? InitialStates(m, call, layer, x, 1) : std::vector<TensorRef>(layer.directions);
  const std::vector<TensorRef> steps = Unbind(m, x, 0);
  std::vector<RecurrentState> states;
  for (size_t d = 0; d < layer.directions; ++d) states.push_back({h[d], c[d]});
  std::vector<TensorRef> last_h, last_c;
  const TensorRef y = RunLayer(m, layer, steps, states, last_h, last_c);
  out[0] = FileLayout(m, y, layer, batch_first);
  const TensorRef h_n = Stack(m, last_h, 0);
  const TensorRef c_n = layer.kind == "lstm" ? Stack(m, last_c, 0) : nullptr;
  if (out.size() > 1) out[1] = batch_first ? Transpose(m, h_n, 0, 1) : h_n;
  if (out.size() > 2 && c_n != nullptr) out[2] = batch_first ? Transpose(m, c_n, 0, 1) : c_n;
}

// A whole stack of layers, as torch.lstm and its like take it: aten/src/ATen/native/RNN.cpp (apply_layer_stack,
// FullLayer, FullBidirectionalLayer).
struct Stacked {
  std::vector<RecurrentLayer> layers;
  std::vector<RecurrentState> states;  // by layer and direction
  double p = 0.0;                      // of the dropouts between layers
};

// Inputs: x, initial states (attribute "states" counts them: h, and c of an LSTM), then of each layer and direction the
// input weights, the state weights and, with "biases", both biases. False where some are not there.
bool ReadStack(Machine& m, const Call& call, Stacked& stack) {
  const std::string kind = StringAttribute(call.node, "kind", "lstm");
  const auto states = static_cast<size_t>(std::clamp<int64_t>(IntAttribute(call.node, "states", 1), 0, 2));
  const size_t per_cell = IntAttribute(call.node, "biases", 1) != 0 ? 4 : 2;
  const size_t directions = IntAttribute(call.node, "bidirectional", 0) != 0 ? 2 : 1;
  const auto weights = static_cast<int64_t>(call.inputs.size() - 1 - std::min(states, call.inputs.size() - 1));
  const auto cells = static_cast<size_t>(Quotient(weights, static_cast<int64_t>(per_cell)));
  const bool lstm = kind == "lstm";
  if (states != (lstm ? 2 : 1) || cells == 0 || (directions == 2 && cells % 2 != 0)) return false;
  if (std::any_of(call.inputs.begin(), call.inputs.end(), [](const TensorRef& t) { return t == nullptr; }))
    return false;
  for (size_t i = 1; i <= states; ++i) {
    const Dims& dims = call.inputs[i]->dims;
    if (dims.size() != 3 || dims[0] != static_cast<int64_t>(cells)) return false;
  }
  const std::vector<TensorRef> h = Unbind(m, call.input(1), 0);
  const std::vector<TensorRef> c = lstm ? Unbind(m, call.input(2), 0) : std::vector<TensorRef>(cells);
  for (size_t i = 0; i < cells; ++i) {
    if (directions == 1 || i % 2 == 0) {
      stack.layers.push_back({.kind = lstm ? "lstm" : (kind == "gru" ? "gru" : "rnn"),
                              .gates = lstm ? 4 : (kind == "gru" ? 3 : 1),
                              .hidden = call.input(1)->dims[2],
                              .directions = directions,
                              .weights = {}});
    }
    const size_t at = 1 + states + i * per_cell;
    if (call.inputs[at]->dims.size() != 2 || call.inputs[at + 1]->dims.size() != 2) return false;
    CellWeights weights{call.inputs[at], call.inputs[at + 1], nullptr, nullptr};
    if (per_cell == 4) {
      weights.bias_ih = call.inputs[at + 2];
      weights.bias_hh = call.inputs[at + 3];
    }
    stack.layers.back().weights.push_back(std::move(weights));
    stack.states.push_back({h[i], c[i]});
  }
  stack.p = FloatAttribute(call.node, "p", 0.0);
  return true;
}

void EnactRecurrentLayers(Machine& m, const Call& call, Outputs& out) {
  const bool batch_first = IntAttribute(call.node, "batch_first", 0) != 0;
  TensorRef x = batch_first ? Transpose(m, call.input(0), 0, 1) : call.input(0);
  Stacked stack;
  if (x->dims[0] < 1 || !ReadStack(m, call, stack)) return;
  std::vector<TensorRef> last_h, last_c;
  for (size_t l = 0; l < stack.layers.size(); ++l) {
    const RecurrentLayer& layer = stack.layers[l];
    const std::vector<TensorRef> steps = Unbind(m, x, 0);
    const auto states = std::span(stack.states).subspan(l * layer.directions, layer.directions);
    x = RunLayer(m, layer, steps, states, last_h, last_c);
    if (l + 1 < stack.layers.size()) x = Dropout(m, x, stack.p);
  }
  out[0] = batch_first ? Transpose(m, x, 0, 1) : x;
  if (out.size() > 1) out[1] = Stack(m, last_h, 0);
  if (out.size() > 2) out[2] = Stack(m, last_c, 0);
}

// nn.LSTMCell, nn.GRUCell: one step. Inputs: x, h, c (or null), input weight, state weight, input bias, state bias.
void EnactCell(Machine& m, const Call& call, Outputs& out) {
  RecurrentLayer layer;
  layer.kind = call.node.op == "lstm_cell" ? "lstm" : "gru";
  layer.hidden = call.input(1)->dims[1];
  const CellWeights weights{call.input(3), call.input(4), call.input(5), call.input(6)};
  const RecurrentState next = RunCell(m, layer, weights, call.input(0), {call.input(1), call.input(2)});
  out[0] = next.h;
  if (out.size() > 1) out[1] = next.c;
}

// A fused cell of nn.LSTMCell or nn.GRUCell, as a record has it. Inputs: the products with the input and the state, the
// state, both biases (or null).
void EnactFusedCell(Machine& m, const Call& call, Outputs& out) {
  const FusedInputs given{call.input(0), call.input(1), call.input(2),
                          call.input(3), call.input(4), call.input(2)->dims[1]};
  const bool lstm = call.node.op == "fused_lstm_cell";
  FusedResults next = lstm ? FusedLstmCell(m, given) : FusedGruCell(m, given);
  std::vector<TensorRef> results{next.h};
  if (lstm) results.push_back(next.c);
  results.push_back(next.workspace);
  for (size_t i = 0; i < std::min(results.size(), out.size()); ++i) out[i] = results[i];
}

bool HasGatesAndState(const CallShape& call) { return call.rank(0) == 2 && call.rank(1) == 2 && call.rank(2) == 2; }

// x and h [B, ...], weights [gates * H, ...].
bool HasWeights(const CallShape& call) {
  return call.rank(0) == 2 && call.rank(1) == 2 && call.rank(3) == 2 && call.rank(4) == 2;
}

// A recurrence runs position by position, in each layer and direction.
bool HasFewPositions(const CallShape& call) {
  const Dims& x = *call.inputs[0];
  const int64_t positions = x[IntAttribute(call.node, "batch_first", 0) != 0 ? 1 : 0];
  constexpr int64_t kInputsOfLayer = 6;
  return Saturated({positions, std::max<int64_t>(kInputsOfLayer, std::ssize(call.inputs))}) <=
         kInputsOfLayer * limits::kRecurrentPositions;
}

}  // namespace

std::span<const OpRow> RecurrentOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"fused_gru_cell", EnactFusedCell, 3, 2, HasGatesAndState},
      {"fused_lstm_cell", EnactFusedCell, 3, 2, HasGatesAndState},
      {"gru", EnactRecurrent, 1, 3, HasFewPositions},
      {"gru_cell", EnactCell, 2, 2, HasWeights},
      {"lstm", EnactRecurrent, 1, 3, HasFewPositions},
      {"lstm_cell", EnactCell, 3, 2, HasWeights},
      {"recurrent_layers", EnactRecurrentLayers, 2, 3, HasFewPositions},
      {"rnn", EnactRecurrent, 1, 3, HasFewPositions},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
