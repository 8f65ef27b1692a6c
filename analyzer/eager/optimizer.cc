#include "analyzer/eager/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

// State of one parameter, one entry per tensor that the optimizer keeps: bytes, and the name it has in state_dict().
struct StateTensor {
  std::string_view name;
  int64_t bytes;
};
using StateFn = std::vector<StateTensor> (*)(const TrainedParameter&);

constexpr int64_t kStepScalarBytes = 4;

std::vector<StateTensor> NoState(const TrainedParameter&) { return {}; }
std::vector<StateTensor> Momentum(const TrainedParameter& p) { return {{"momentum_buffer", p.bytes}}; }
std::vector<StateTensor> TwoMoments(const TrainedParameter& p) {
  return {{"step", kStepScalarBytes}, {"exp_avg", p.bytes}, {"exp_avg_sq", p.bytes}};
}
std::vector<StateTensor> ThreeMoments(const TrainedParameter& p) {
  return {{"step", kStepScalarBytes}, {"exp_avg", p.bytes}, {"exp_avg_sq", p.bytes}, {"max_exp_avg_sq", p.bytes}};
}
std::vector<StateTensor> SquareAverage(const TrainedParameter& p) {
  return {{"step", kStepScalarBytes}, {"square_avg", p.bytes}};
}
std::vector<StateTensor> SumOfSquares(const TrainedParameter& p) {
  return {{"step", kStepScalarBytes}, {"sum", p.bytes}};
}

// torch/optim/_adafactor.py: a row and a column of second moments for matrices, a full one for vectors.
std::vector<StateTensor> Factored(const TrainedParameter& p) {
  if (p.dims.size() < 2) return {{"step", kStepScalarBytes}, {"variance", p.bytes}};
  const int64_t width = p.elements > 0 ? p.bytes / p.elements : 0;
  const int64_t columns = p.dims.back(), rows = p.dims[p.dims.size() - 2];
  return {{"step", kStepScalarBytes},
          {"row_var", columns > 0 ? p.elements / columns * width : 0},
          {"col_var", rows > 0 ? p.elements / rows * width : 0}};
}

// bitsandbytes/optim/optimizer.py: two bytes of state per element in blocks of 256 with an fp32 maximum each; tensors
// below 4,096 elements keep fp32 state.
std::vector<StateTensor> EightBitMoments(const TrainedParameter& p) {
  constexpr int64_t kSmallest = 4096, kBlock = 256;
  if (p.elements < kSmallest) return {{"state1", 4 * p.elements}, {"state2", 4 * p.elements}};
  const int64_t maxima = (p.elements + kBlock - 1) / kBlock * 4;
  return {{"state1", p.elements}, {"state2", p.elements}, {"absmax1", maxima}, {"absmax2", maxima}};
}

// Temporaries of a step: multiples of all trained parameters (foreach) or of the largest one (for-loop).
// Passes: how often a step reads or writes as many bytes as the trained parameters have, one operator of the
// framework's loop after another (_multi_tensor_adam: lerp 3, mul 2, addcmul 3, sqrt 2, div 2, add 2, addcdiv 4).
struct OptimizerRow {
  std::string_view name;
  std::string_view description;
  StateFn state;
  bool state_at_construction;
  double foreach_temporaries;   // x bytes of all trained parameters
  double for_loop_temporaries;  // x bytes of the largest
  int passes;
  bool has_fused = false;
};

constexpr auto kOptimizers = std::to_array<OptimizerRow>({
    {"adafactor", "factored second moments", Factored, false, 0, 2, 16},
    {"adagrad", "sum of squares, from construction on", SumOfSquares, true, 2, 2, 13, true},
    {"adam", "two moments", TwoMoments, false, 1, 3, 18, true},
    {"adam8bit", "two moments of one byte (bitsandbytes)", EightBitMoments, false, 0, 0, 4},
    {"adamw", "two moments, decoupled weight decay", TwoMoments, false, 1, 3, 20, true},
    {"amsgrad", "Adam with a third moment", ThreeMoments, false, 1, 3, 21, true},
    {"momentum", "SGD with momentum", Momentum, false, 0, 0, 8, true},
    {"nesterov", "SGD with Nesterov momentum", Momentum, false, 0, 1, 11, true},
    {"none", "no optimizer: forward and backward only", NoState, false, 0, 0, 0},
    {"rmsprop", "one moment", SquareAverage, false, 1, 2, 13},
    {"sgd", "no state", NoState, false, 0, 0, 3, true},
});

const OptimizerRow* FindRow(std::string_view name) {
  auto it = std::find_if(kOptimizers.begin(), kOptimizers.end(), [&](const auto& row) { return row.name == name; });
  return it == kOptimizers.end() ? nullptr : &*it;
}

std::vector<StateTensor> StateOf(const Optimizer& optimizer, const OptimizerRow* row, const TrainedParameter& p) {
  if (row != nullptr) return row->state(p);
  return {{"state", std::llround(optimizer.bytes_per_parameter * static_cast<double>(p.elements))}};
}

int64_t TemporaryBytes(const Optimizer& optimizer, const OptimizerRow* row, const std::vector<TrainedParameter>& all) {
  if (row == nullptr || optimizer.implementation == OptimizerImplementation::kFused) return 0;
  int64_t sum = 0, largest = 0;
  for (const TrainedParameter& p : all) {
    sum += p.bytes;
    largest = std::max(largest, p.bytes);
  }
  if (optimizer.implementation == OptimizerImplementation::kForLoop || row->name == "adafactor") {
    return std::llround(row->for_loop_temporaries * static_cast<double>(largest));
  }
  return std::llround(row->foreach_temporaries * static_cast<double>(sum));
}

void AddState(MemoryProgram& program, const std::vector<TrainedParameter>& parameters, const Optimizer& optimizer,
              const OptimizerRow* row, StepId begin) {
  for (const TrainedParameter& p : parameters) {
    for (const StateTensor& state : StateOf(optimizer, row, p)) {
      if (state.bytes == 0) continue;
      Buffer buffer;
      buffer.name = absl::StrCat(p.name, ".", std::string(state.name));
      buffer.category = Category::kOptimizerState;
      buffer.bytes = state.bytes;
      if (state.bytes == p.bytes) {
        buffer.dims = p.dims;
        buffer.dtype = p.dtype;
      }
      buffer.begin = begin;
      buffer.end = program.steps.next_id();
      buffer.kept_by = "kept by the optimizer between steps";
      program.buffers.Add(std::move(buffer));
    }
  }
}

// A fused kernel reads parameter, gradient and state once and writes parameter and state once.
int64_t MovedBytes(const Optimizer& optimizer, const OptimizerRow* row, const std::vector<TrainedParameter>& all) {
  int64_t parameters = 0, state = 0;
  for (const TrainedParameter& p : all) {
    parameters += p.bytes;
    for (const StateTensor& tensor : StateOf(optimizer, row, p)) state += tensor.bytes;
  }
  const bool fused = row == nullptr || optimizer.implementation == OptimizerImplementation::kFused;
  return fused ? 3 * parameters + 2 * state : row->passes * parameters;
}

StepId AddOptimizerStep(MemoryProgram& program, std::string op) {
  Step step;
  step.op = std::move(op);
  step.phase = Phase::kOptimizer;
  return program.steps.Add(std::move(step));
}

}  // namespace

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const OptimizerRow& row : kOptimizers) names.emplace_back(row.name);
  return names;
}

std::string_view NameOf(OptimizerImplementation implementation) {
  switch (implementation) {
    case OptimizerImplementation::kForeach: return "foreach";
    case OptimizerImplementation::kForLoop: return "for-loop";
    case OptimizerImplementation::kFused: return "fused";
  }
  return "";
}

absl::Status CheckImplementation(const Optimizer& optimizer) {
  const OptimizerRow* row = FindRow(optimizer.name);
  if (optimizer.implementation != OptimizerImplementation::kFused || (row != nullptr && row->has_fused)) {
    return absl::OkStatus();
  }
  std::vector<std::string> fused;
  for (const OptimizerRow& other : kOptimizers) {
    if (other.has_fused) fused.emplace_back(other.name);
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, "usage",
                     absl::StrCat("--optimizer-impl: ", optimizer.name, " has no fused implementation"),
                     {absl::StrCat("these have: ", absl::StrJoin(fused, ", "))});
}

absl::StatusOr<Optimizer> ParseOptimizer(std::string_view text) {
  Optimizer optimizer;
  const absl::string_view view(text.data(), text.size());
  if (FindRow(text) != nullptr) {
    optimizer.name = std::string(text);
    return optimizer;
  }
  double bytes = 0;
  if (absl::SimpleAtod(view, &bytes) && std::isfinite(bytes) && bytes >= 0) {
    optimizer.name = "bytes";
    optimizer.bytes_per_parameter = bytes;
    return optimizer;
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, "usage", absl::StrCat("unknown optimizer '", view, "'"),
                     {absl::StrCat("known: ", absl::StrJoin(OptimizerNames(), ", "),
                                   ", or a number: bytes of state per parameter")});
}

MemoryProgram WithOptimizer(const MemoryProgram& trace, const std::vector<TrainedParameter>& parameters,
                            const Optimizer& optimizer, bool first_step) {
  MemoryProgram program = trace;
  const OptimizerRow* row = FindRow(optimizer.name);
  if (row != nullptr && row->name == "none") return program;
  const StepId backward_end = trace.steps.next_id();
  const StepId make_state = AddOptimizerStep(program, absl::StrCat(optimizer.name, " state"));
  const StepId update = AddOptimizerStep(program, absl::StrCat(optimizer.name, " step"));
  for (Buffer& buffer : program.buffers) {
    if (buffer.end == backward_end) buffer.end = program.steps.next_id();
  }
  program.steps[update].moved_bytes = MovedBytes(optimizer, row, parameters);
  const bool from_start = !first_step || (row != nullptr && row->state_at_construction);
  AddState(program, parameters, optimizer, row, from_start ? StepId(0) : make_state);
  if (const int64_t bytes = TemporaryBytes(optimizer, row, parameters); bytes > 0) {
    Buffer buffer;
    buffer.name = absl::StrCat(optimizer.name, " temporaries");
    buffer.category = Category::kOptimizerTemporaries;
    buffer.bytes = bytes;
    buffer.begin = update;
    buffer.end = program.steps.next_id();
    program.buffers.Add(std::move(buffer));
  }
  return program;
}

}  // namespace onnx_mem
