// LSTM, GRU, RNN. Exporters join and reorder the framework's weights for ONNX (Slice, Concat, Unsqueeze of parameters);
// the framework's operator takes the parameters themselves.
//
//   inputs of the lowered node: x, the weights (attribute "weights" says how many), then the initial states
#include <algorithm>
#include <vector>

#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// Appends the stored tensors that `id` was put together from, each once, in order.
void CollectStored(Site& s, TensorId id, int depth, TensorIds& stored) {
  if (!id.valid() || depth > 12) return;
  const Tensor& tensor = s.source().tensors[id];
  if (tensor.role == TensorRole::kInitializer || tensor.role == TensorRole::kConstant) {
    const TensorId found = s.draft().Resolve(id);
    if (IsFloating(tensor.dtype) && std::find(stored.begin(), stored.end(), found) == stored.end())
      stored.push_back(found);
    return;
  }
  const Node* maker = s.source().MakerOf(id);
  if (maker == nullptr) return;
  const size_t operands = maker->op == "Concat" ? maker->inputs.size() : 1;
  for (size_t i = 0; i < std::min(operands, maker->inputs.size()); ++i) {
    CollectStored(s, maker->inputs[i], depth + 1, stored);
  }
}

// What the state of one layer is a piece of.
TensorId WholeState(const Graph& source, TensorId id) {
  for (const Node* maker = source.MakerOf(id); maker != nullptr; maker = source.MakerOf(id)) {
    if ((maker->op != "Slice" && maker->op != "Split") || maker->inputs.empty() || !maker->inputs[0].valid()) break;
    id = maker->inputs[0];
  }
  return id;
}

// h_zeros and c_zeros of LSTM.forward (torch/nn/modules/rnn.py), which exporters make one of.
bool SharesState(Site& s) {
  if (!s.Has(5) || !s.Has(6)) return false;
  const TensorId hidden = WholeState(s.source(), s.node().inputs[5]);
  return hidden == WholeState(s.source(), s.node().inputs[6]) && s.source().tensors[hidden].producer.valid();
}

// The state in `slot`. Zeros are made for all layers at once, and each reads its piece.
TensorId State(Site& s, size_t slot) {
  const bool is_own = slot == 6 && SharesState(s);
  if (!is_own && s.In(slot).valid()) return s.In(slot);
  const TensorId whole = WholeState(s.source(), s.node().inputs[slot]);
  const Dims& dims = s.InShape(slot).dims;
  const Shape& all = s.source().tensors[whole].shape;
  const bool is_piece = whole != s.node().inputs[slot] && all.rank() == dims.size() && NumElements(all).has_value();
  if (!is_piece) return s.EmitTemp("full", {}, dims, s.InType(slot));
  TensorId& made = s.lowering().states[{whole, slot == 6}];
  if (!made.valid()) made = s.EmitTemp("full", {}, all.dims, s.InType(slot));
  const std::vector<int64_t> zero = {0}, one = {1}, end = {dims[0]};
  return s.EmitTemp("slice", {made}, dims, s.InType(slot),
                    {{"axes", zero}, {"starts", zero}, {"ends", end}, {"steps", one}});
}

}  // namespace

// Every step is enacted: a length beyond any sequence (or none at all) and features that no shape gave are not.
void LowerRecurrent(Site& s) {
  constexpr size_t kRank = 3;
  for (size_t slot : {0, 1, 2, 5, 6}) {
    if (s.Has(slot) && s.InRank(slot) != kRank) return s.Assume();  // sizes that the file does not tell
  }
  constexpr int64_t kMostSteps = 100'000;
  const int64_t steps = s.InDim(0, s.Int("layout", 0) != 0 ? 1 : 0);
  if (steps == 0 || steps > kMostSteps || s.Int("hidden_size", 0) < 1) return s.Assume();
  TensorIds inputs = {s.Materialized(0)};
  for (size_t slot : {1, 2, 3}) {
    if (!s.Has(slot)) continue;
    TensorIds stored;
    CollectStored(s, s.node().inputs[slot], 0, stored);
    if (stored.empty()) stored.push_back(s.Materialized(slot));
    inputs.insert(inputs.end(), stored.begin(), stored.end());
  }
  const auto weights = static_cast<int64_t>(inputs.size()) - 1;
  for (size_t slot : {5, 6}) {
    if (s.Has(slot)) inputs.push_back(State(s, slot));
  }
  TensorIds outputs = s.node().outputs;
  s.Emit(s.framework(), std::move(inputs), std::move(outputs),
         {{"hidden", s.Int("hidden_size", 0)},
          {"layers", int64_t{1}},
          {"bidirectional", static_cast<int64_t>(s.String("direction", "forward") == "bidirectional")},
          {"batch_first", s.Int("layout", 0)},
          {"weights", weights}});
}

}  // namespace onnx_mem
