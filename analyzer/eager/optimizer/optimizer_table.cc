#include "analyzer/eager/optimizer/optimizer_table.h"

#include <algorithm>
#include <array>

#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

constexpr StateTensor kStep = {.name = "step", .bytes = 4, .on_cpu = true};

std::vector<StateTensor> NoState(const TrainedParameter&) { return {}; }
std::vector<StateTensor> Momentum(const TrainedParameter& p) { return {{"momentum_buffer", p.bytes}}; }
std::vector<StateTensor> TwoMoments(const TrainedParameter& p) {
  return {kStep, {"exp_avg", p.bytes}, {"exp_avg_sq", p.bytes}};
}
std::vector<StateTensor> ThreeMoments(const TrainedParameter& p) {
  return {kStep, {"exp_avg", p.bytes}, {"exp_avg_sq", p.bytes}, {"max_exp_avg_sq", p.bytes}};
}
std::vector<StateTensor> SquareAverage(const TrainedParameter& p) { return {kStep, {"square_avg", p.bytes}}; }
std::vector<StateTensor> SquareAverageAndMomentum(const TrainedParameter& p) {
  return {kStep, {"square_avg", p.bytes}, {"momentum_buffer", p.bytes}};
}
std::vector<StateTensor> SquareAverageAndMean(const TrainedParameter& p) {
  return {kStep, {"square_avg", p.bytes}, {"grad_avg", p.bytes}};
}
std::vector<StateTensor> SumOfSquares(const TrainedParameter& p) { return {kStep, {"sum", p.bytes}}; }

// torch/optim/_adafactor.py: a row and a column of second moments for matrices, a full one for vectors.
std::vector<StateTensor> Factored(const TrainedParameter& p) {
  if (p.dims.size() < 2) return {kStep, {"variance", p.bytes}};
  const FactorBytes factors = FactorsOf(p);
  return {kStep, {"row_var", factors.rows}, {"col_var", factors.columns}};
}

// transformers/optimization.py: factors in float32, and the parameter's root mean square of the step before.
std::vector<StateTensor> FactoredFloat(const TrainedParameter& p) {
  constexpr int64_t kFloatBytes = 4;
  const FactorBytes factors = FloatFactorsOf(p);
  if (p.dims.size() < 2) return {{"exp_avg_sq", kFloatBytes * p.elements}, {"RMS", kFloatBytes}};
  return {{"exp_avg_sq_row", factors.rows}, {"exp_avg_sq_col", factors.columns}, {"RMS", kFloatBytes}};
}

// torch/optim/_muon.py takes matrices alone; what it refuses is AdamW's.
std::vector<StateTensor> MomentumOfMatrices(const TrainedParameter& p) {
  return IsOfMuon(p) ? Momentum(p) : TwoMoments(p);
}

// bitsandbytes/optim/optimizer.py (0.50): `count` states in float32, whatever the parameter is.
template <int count>
std::vector<StateTensor> Float(const TrainedParameter& p) {
  std::vector<StateTensor> state = {{"state1", 4 * p.elements}};
  if (count == 2) state.push_back({"state2", 4 * p.elements});
  return state;
}

// The same: a byte of state per element in blocks of 256 with an fp32 maximum each; small tensors keep float32.
template <int count>
std::vector<StateTensor> EightBit(const TrainedParameter& p) {
  constexpr int64_t kBlock = 256;
  if (!IsEightBit(p)) return Float<count>(p);
  const int64_t maxima = (p.elements + kBlock - 1) / kBlock * 4;
  std::vector<StateTensor> state = {{"state1", p.elements}};
  if (count == 2) state.push_back({"state2", p.elements});
  state.push_back({"absmax1", maxima});
  if (count == 2) state.push_back({"absmax2", maxima});
  return state;
}

// Optimizer8bit.get_state_buffer: from 1e5 elements on the state itself lies in memory that CUDA moves between host and
// card (cudaMallocManaged), which no allocator of PyTorch has.
template <StateFn state>
std::vector<StateTensor> Paged(const TrainedParameter& p) {
  constexpr int64_t kSmallestPaged = 100'000;
  std::vector<StateTensor> all = state(p);
  if (p.elements >= kSmallestPaged) {
    std::erase_if(all, [](const StateTensor& tensor) { return tensor.name.starts_with("state"); });
  }
  return all;
}

constexpr auto kOptimizers = std::to_array<OptimizerRow>({
    {"adafactor", "factored second moments", Factored, ForeachAdafactor, LoopAdafactor, 16},
    {"adafactor-hf", "the same of transformers, in float32", FactoredFloat, LoopAdafactorFloat, LoopAdafactorFloat, 20},
    {"adagrad", "sum of squares, from construction on", SumOfSquares, ForeachAdagrad, LoopRootOfSquares, 13, true,
     true},
    {"adam", "two moments", TwoMoments, ForeachAdam, LoopAdam, 18, true},
    {"adam8bit", "two moments of one byte (bitsandbytes)", EightBit<2>, NoTemporaries, NoTemporaries, 4, false, false,
     "adamw8bit adamw-bnb-8bit", 2},
    {"adamw", "two moments, decoupled weight decay", TwoMoments, ForeachAdamW, LoopAdamW, 20, true},
    {"amsgrad", "Adam with a third moment", ThreeMoments, ForeachAdam, LoopAdam, 21, true},
    {"lion", "one moment in float32 (bitsandbytes)", Float<1>, NoTemporaries, NoTemporaries, 5, false, false,
     "lion-32bit"},
    {"lion8bit", "one moment of one byte (bitsandbytes)", EightBit<1>, NoTemporaries, NoTemporaries, 4, false, false,
     "", 1},
    {"momentum", "SGD with momentum", Momentum, ForeachMomentum, LoopMomentum, 8, true, false, "sgd-momentum sgdm"},
    {"muon", "momentum of matrices; AdamW of all else", MomentumOfMatrices, ForeachMuon, LoopMuon, 24},
    {"nesterov", "SGD with Nesterov momentum", Momentum, ForeachMomentum, LoopNesterov, 11, true, false,
     "sgd-nesterov"},
    {"none", "no optimizer: forward and backward only", NoState, NoTemporaries, NoTemporaries, 0},
    {"paged-adam", "two moments in float32, paged (bitsandbytes)", Paged<Float<2>>, NoTemporaries, NoTemporaries, 7,
     false, false, "paged-adamw paged-adam-32bit paged-adamw-32bit"},
    {"paged-adam8bit", "two moments of one byte, paged (bitsandbytes)", Paged<EightBit<2>>, NoTemporaries,
     NoTemporaries, 4, false, false, "paged-adamw-8bit", 2},
    {"paged-lion", "one moment in float32, paged (bitsandbytes)", Paged<Float<1>>, NoTemporaries, NoTemporaries, 5,
     false, false, "paged-lion-32bit"},
    {"paged-lion8bit", "one moment of one byte, paged (bitsandbytes)", Paged<EightBit<1>>, NoTemporaries, NoTemporaries,
     4, false, false, "", 1},
    {"rmsprop", "one moment", SquareAverage, ForeachRmsProp, LoopRootOfSquares, 13},
    {"rmsprop-centered", "one moment and the mean gradient", SquareAverageAndMean, ForeachRmsProp, LoopRootOfSquares,
     17},
    {"rmsprop-momentum", "one moment and momentum", SquareAverageAndMomentum, ForeachRmsProp, LoopRootOfSquares, 16},
    {"sgd", "no state", NoState, ForeachSgd, LoopSgd, 3, true},
});

}  // namespace

bool IsEightBit(const TrainedParameter& parameter) {
  constexpr int64_t kSmallest = 4096;  // min_8bit_size of bitsandbytes
  return parameter.elements >= kSmallest;
}

std::span<const OptimizerRow> OptimizerRows() { return kOptimizers; }

const OptimizerRow* FindRow(std::string_view name) {
  auto it = std::find_if(kOptimizers.begin(), kOptimizers.end(), [&](const auto& row) { return row.name == name; });
  return it == kOptimizers.end() ? nullptr : &*it;
}

// The row that someone means by "AdamW", "torch.optim.SGD" or "sgd_momentum".
const OptimizerRow* RowOfWord(std::string_view word) {
  constexpr std::string_view kModule = "torch.optim.";
  if (word.starts_with(kModule)) word.remove_prefix(kModule.size());
  const auto means = [&](const OptimizerRow& row) { return SameWord(word, row.name) || HasWord(row.also, word); };
  const auto it = std::find_if(kOptimizers.begin(), kOptimizers.end(), means);
  return it == kOptimizers.end() ? nullptr : &*it;
}

}  // namespace onnx_mem
