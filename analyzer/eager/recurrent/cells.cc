#include "analyzer/eager/recurrent/cells.h"

#include <utility>

#include "analyzer/eager/operators/binary.h"
#include "analyzer/eager/operators/matmul.h"
#include "analyzer/eager/operators/unary.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

// x times weight.t(), cast under autocast: the transposed weight is no leaf, so every step makes its own copy.
TensorRef Gates(Machine& m, const TensorRef& x, const TensorRef& weight) {
  const TensorRef weight_t = m.AutocastLow(Transpose(m, weight, 0, 1));
  return Mm(m, m.AutocastLow(x), weight_t);
}

FusedInputs Products(Machine& m, const RecurrentLayer& layer, const CellWeights& w, const TensorRef& x,
                     const TensorRef& h, const TensorRef& state) {
  FusedInputs given;
  given.input_gates = Gates(m, x, w.ih);
  given.hidden_gates = Gates(m, h, w.hh);
  given.state = state;
  given.bias_ih = w.bias_ih;
  given.bias_hh = w.bias_hh;
  given.hidden = layer.hidden;
  return given;
}

TensorRef LinearOf(Machine& m, const TensorRef& x, const TensorRef& weight, const TensorRef& bias) {
  const TensorRef b = m.AutocastLow(bias), w = m.AutocastLow(weight), a = m.AutocastLow(x);
  return Linear(m, a, Transpose(m, w, 0, 1), b);
}

RecurrentState RnnCell(Machine& m, const CellWeights& w, const TensorRef& x, const RecurrentState& state) {
  const TensorRef from_state = LinearOf(m, state.h, w.hh, w.bias_hh);
  const TensorRef from_input = LinearOf(m, x, w.ih, w.bias_ih);
  return {Unary(m, "tanh", Add(m, from_state, from_input, /*in_place=*/true)), nullptr};
}

}  // namespace

FusedResults FusedLstmCell(Machine& m, const FusedInputs& given) {
  const TensorRef bias_hh = m.AutocastLow(given.bias_hh), bias_ih = m.AutocastLow(given.bias_ih);
  const TensorRef c = m.AutocastLow(given.state), hidden_gates = m.AutocastLow(given.hidden_gates);
  const TensorRef input_gates = m.AutocastLow(given.input_gates);
  NodeRef node = m.MakeNode("ThnnFusedLstmCellBackward0", {input_gates, hidden_gates, c, bias_ih, bias_hh});
  for (const TensorRef& t : {c, bias_hh, hidden_gates, bias_ih, input_gates}) node.Save(t);
  const Dims state_dims{input_gates->dims[0], given.hidden}, gate_dims = input_gates->dims;
  const DType dtype = input_gates->dtype;
  FusedResults next;
  next.h = m.New("_thnn_fused_lstm_cell", state_dims, dtype);
  next.c = m.Allocate(state_dims, dtype);
  next.workspace = m.Allocate(gate_dims, dtype);
  node.Save(next.c);
  node.Save(next.workspace);
  node.Output(next.h);
  node.Output(next.c);
  node.Formula([state_dims, gate_dims, dtype, biased = bias_ih != nullptr](Backward& b) {
    b.m.BeginStep("_thnn_fused_lstm_cell_backward_impl");
    const TensorRef gates = b.m.Allocate(gate_dims, dtype);
    TensorRef c = b.m.Allocate(state_dims, dtype);
    b.result(0, gates);
    b.result(1, gates);
    b.result(2, std::move(c));
    if (!biased) return;
    const TensorRef bias = b.m.Allocate(Dims{gate_dims[1]}, dtype);
    b.result(3, bias);
    b.result(4, bias);
  });
  return next;
}

FusedResults FusedGruCell(Machine& m, const FusedInputs& given) {
  const TensorRef bias_hh = m.AutocastLow(given.bias_hh), bias_ih = m.AutocastLow(given.bias_ih);
  const TensorRef h = m.AutocastLow(given.state), hidden_gates = m.AutocastLow(given.hidden_gates);
  const TensorRef input_gates = m.AutocastLow(given.input_gates);
  NodeRef node = m.MakeNode("ThnnFusedGruCellBackward0", {input_gates, hidden_gates, h, bias_ih, bias_hh});
  for (const TensorRef& t : {bias_hh, hidden_gates, h, bias_ih, input_gates}) node.Save(t);
  const Dims state_dims{input_gates->dims[0], given.hidden}, gate_dims = input_gates->dims;
  const DType dtype = input_gates->dtype;
  FusedResults next;
  next.h = m.New("_thnn_fused_gru_cell", state_dims, dtype);
  next.workspace = m.Allocate(Dims{state_dims[0], 5 * given.hidden}, dtype);
  node.Save(next.workspace);
  node.Output(next.h);
  node.Formula([state_dims, gate_dims, dtype, biased = bias_ih != nullptr](Backward& b) {
    b.m.BeginStep("_thnn_fused_gru_cell_backward");
    b.result(0, b.m.Allocate(gate_dims, dtype));
    b.result(1, b.m.Allocate(gate_dims, dtype));
    b.result(2, b.m.Allocate(state_dims, dtype));
    for (size_t edge : {3, 4}) {
      if (biased) b.result(edge, b.m.Allocate(Dims{gate_dims[1]}, dtype));
    }
  });
  return next;
}

RecurrentState RunCell(Machine& m, const RecurrentLayer& layer, const CellWeights& w, const TensorRef& x,
                       const RecurrentState& state) {
  if (layer.kind == "lstm") {
    const FusedResults next = FusedLstmCell(m, Products(m, layer, w, x, state.h, state.c));
    return {next.h, next.c};
  }
  if (layer.kind == "gru") return {FusedGruCell(m, Products(m, layer, w, x, state.h, state.h)).h, nullptr};
  return RnnCell(m, w, x, state);
}

}  // namespace onnx_mem::eager
