// One step of LSTM, GRU and RNN as PyTorch's native CUDA path runs them: one product with the input, one with the
// state, and one fused cell. Every step's gates, workspace and state are saved. (cuDNN keeps a reserve of its own
// instead, whose size only cuDNN knows.) Source: aten/src/ATen/native/RNN.cpp, cuda/RNN.cu,
// tools/autograd/derivatives.yaml.
//
//   lstm step   mm [B, 4H], mm [B, 4H], cell: h [B, H], c [B, H], workspace [B, 4H]
//   gru step    mm [B, 3H], mm [B, 3H], cell: h [B, H], workspace [B, 5H]
//   rnn step    addmm [B, H], addmm [B, H] (added in place), tanh
#ifndef ONNX_MEM_ANALYZER_EAGER_RECURRENT_CELLS_H_
#define ONNX_MEM_ANALYZER_EAGER_RECURRENT_CELLS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

// Parameters of one direction: [gates * H, I], [gates * H, H], [gates * H] each; biases may be null.
struct CellWeights {
  TensorRef ih, hh, bias_ih, bias_hh;
};

struct RecurrentState {
  TensorRef h, c;
};

struct RecurrentLayer {
  std::string_view kind;  // "lstm", "gru", "rnn"
  int64_t gates = 1;
  int64_t hidden = 0;
  size_t directions = 1;
  std::vector<CellWeights> weights;  // by direction
};

// What one fused cell gets: the products of input and state with their weights, the state (c of an LSTM, h of a GRU),
// and biases, which may be null.
struct FusedInputs {
  TensorRef input_gates, hidden_gates, state, bias_ih, bias_hh;
  int64_t hidden = 0;
};

// c is null in a GRU.
struct FusedResults {
  TensorRef h, c, workspace;
};

// _thnn_fused_lstm_cell and _thnn_fused_gru_cell.
FusedResults FusedLstmCell(Machine& m, const FusedInputs& given);
FusedResults FusedGruCell(Machine& m, const FusedInputs& given);

RecurrentState RunCell(Machine& m, const RecurrentLayer& layer, const CellWeights& w, const TensorRef& x,
                       const RecurrentState& state);

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_RECURRENT_CELLS_H_
