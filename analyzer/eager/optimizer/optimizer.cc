#include "analyzer/eager/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/eager/optimizer/optimizer_step.h"
#include "analyzer/eager/optimizer/optimizer_table.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/memory/made_by_a_step.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/run/decimal.h"

namespace onnx_mem {
namespace {

std::vector<StateTensor> StateOf(const Optimizer& optimizer, const OptimizerRow* row, const TrainedParameter& p) {
  if (row != nullptr) return row->state(p);
  return {{"state", std::llround(optimizer.bytes_per_parameter * static_cast<double>(p.elements))}};
}

// State that belongs to no parameter: tables of 256 numbers say what a quantized state's bytes stand for.
std::vector<StateTensor> SharedState(const OptimizerRow* row, const std::vector<TrainedParameter>& parameters) {
  constexpr std::string_view kNames[] = {"qmap1", "qmap2"};
  if (row == nullptr || row->tables == 0) return {};
  if (std::none_of(parameters.begin(), parameters.end(), IsEightBit)) return {};
  std::vector<StateTensor> tables;
  for (int i = 0; i < row->tables; ++i) tables.push_back({kNames[i], 1024});
  return tables;
}

// The temporaries at the peak of a step, beside all of its state. Where state grows within the loop, part of it is
// still missing when a temporary is largest: what is over the final state is the step's alone.
std::vector<int64_t> Temporaries(const Optimizer& optimizer, const OptimizerRow* row,
                                 const std::vector<TrainedParameter>& parameters, bool first_step) {
  if (row == nullptr || optimizer.implementation == OptimizerImplementation::kFused) return {};
  const bool in_lists = optimizer.implementation == OptimizerImplementation::kForeach;
  StepLocals locals;
  (in_lists ? row->foreach : row->for_loop)(parameters, {optimizer.weight_decay, first_step}, locals);
  if (locals.kept_bytes() == 0) return locals.peak_tensors();
  const int64_t bytes = locals.peak_bytes() - locals.kept_bytes();
  return bytes > 0 ? std::vector<int64_t>{bytes} : std::vector<int64_t>{};
}

void AddState(MemoryProgram& program, const std::vector<TrainedParameter>& parameters, const Optimizer& optimizer,
              const OptimizerRow* row, StepId begin) {
  const SharedText kept = "kept by the optimizer between steps";
  const auto add = [&](std::string name, int64_t bytes) -> Buffer* {
    if (bytes == 0) return nullptr;
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.category = Category::kOptimizerState;
    buffer.bytes = bytes;
    buffer.begin = begin;
    buffer.end = program.steps.next_id();
    buffer.kept_by = kept;
    return &program.buffers[program.buffers.Add(std::move(buffer))];
  };
  for (const StateTensor& shared : SharedState(row, parameters)) {
    add(absl::StrCat(optimizer.name, ".", std::string(shared.name)), shared.bytes);
  }
  program.buffers.reserve(program.buffers.size() + 3 * parameters.size() + 1);
  for (const TrainedParameter& p : parameters) {
    for (const StateTensor& state : StateOf(optimizer, row, p)) {
      Buffer* buffer = add(absl::StrCat(p.name, ".", std::string(state.name)), state.bytes);
      if (buffer == nullptr) continue;
      buffer->on_cpu = state.on_cpu && optimizer.implementation != OptimizerImplementation::kFused;
      if (state.bytes != p.bytes) continue;
      buffer->dims = p.dims;
      buffer->dtype = p.dtype;
    }
  }
}

// The average of a model is a copy of it, in the types that it has. Source: torch/optim/swa_utils.py, AveragedModel:
// deepcopy(model); get_ema_multi_avg_fn brings it up to date in place (_foreach_lerp_).
int64_t AveragedBytes(const MemoryProgram& trace, const Optimizer& optimizer) {
  int64_t bytes = 0;
  if (!optimizer.averages_model) return bytes;
  for (const Buffer& buffer : trace.buffers) bytes += IsOfModule(buffer) ? buffer.bytes : 0;
  return bytes;
}

void AddAverage(MemoryProgram& program, const Optimizer& optimizer) {
  if (!optimizer.averages_model) return;
  std::vector<Buffer> copies;
  for (const Buffer& buffer : program.buffers) {
    if (!IsOfModule(buffer)) continue;
    Buffer& copy = copies.emplace_back(buffer);
    copy.name = absl::StrCat(buffer.name.str(), ".average");
    copy.category = Category::kOptimizerState;
    copy.begin = StepId(0);
    copy.end = program.steps.next_id();
    copy.kept_by = "the model's moving average";
  }
  for (Buffer& copy : copies) program.buffers.Add(std::move(copy));
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

std::vector<Buffer> TemporaryBuffers(const MemoryProgram& program, const std::vector<TrainedParameter>& parameters,
                                     const Optimizer& optimizer, const OptimizerRow* row, StepId update,
                                     bool first_step) {
  std::vector<Buffer> temporaries;
  const SharedText name = absl::StrCat(optimizer.name, " temporaries");
  for (const int64_t bytes : Temporaries(optimizer, row, parameters, first_step)) {
    Buffer buffer;
    buffer.name = name;
    buffer.category = Category::kOptimizerTemporaries;
    buffer.bytes = bytes;
    buffer.begin = update;
    buffer.end = program.steps.next_id();
    temporaries.push_back(std::move(buffer));
  }
  return temporaries;
}

StepId AddOptimizerStep(MemoryProgram& program, std::string op) {
  Step step;
  step.op = op;
  step.phase = Phase::kOptimizer;
  return program.steps.Add(std::move(step));
}

}  // namespace

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const OptimizerRow& row : OptimizerRows()) names.emplace_back(row.name);
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
  for (const OptimizerRow& other : OptimizerRows()) {
    if (other.has_fused) fused.emplace_back(other.name);
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("--optimizer-impl: ", optimizer.name, " has no fused implementation"),
                     {absl::StrCat("these have: ", absl::StrJoin(fused, ", "))});
}

absl::StatusOr<Optimizer> ParseOptimizer(std::string_view text) {
  Optimizer optimizer;
  if (const OptimizerRow* row = RowOfWord(text); row != nullptr) {
    optimizer.name = std::string(row->name);
    return optimizer;
  }
  constexpr double kMostBytes = 4096;  // beyond what any keeps, and no product leaves 64 bits
  if (const std::optional<double> bytes = DecimalNumber(text); bytes && *bytes >= 0 && *bytes <= kMostBytes) {
    optimizer.name = "bytes";
    optimizer.bytes_per_parameter = *bytes;
    return optimizer;
  }
  std::vector<std::string> details;
  if (std::string hint = DidYouMean(text, OptimizerNames()); !hint.empty()) details.push_back(std::move(hint));
  details.push_back(
      absl::StrCat("known: ", absl::StrJoin(OptimizerNames(), ", "), ", or a number: bytes of state per parameter"));
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                     absl::StrCat("unknown optimizer '", std::string(text), "'"), std::move(details));
}

MemoryProgram WithOptimizer(MemoryProgram program, const std::vector<TrainedParameter>& parameters,
                            const Optimizer& optimizer, bool first_step) {
  const OptimizerRow* row = FindRow(optimizer.name);
  if (row != nullptr && row->name == "none") {
    AddAverage(program, optimizer);
    return program;
  }
  const StepId backward_end = program.steps.next_id();
  const StepId make_state = AddOptimizerStep(program, absl::StrCat(optimizer.name, " state"));
  const StepId update = AddOptimizerStep(program, absl::StrCat(optimizer.name, " step"));
  for (Buffer& buffer : program.buffers) {
    if (buffer.end == backward_end) buffer.end = program.steps.next_id();
  }
  // An average is read and written, and what it is of is read.
  program.steps[update].moved_bytes = MovedBytes(optimizer, row, parameters) + 3 * AveragedBytes(program, optimizer);
  const bool from_start = !first_step || (row != nullptr && row->state_at_construction);
  AddAverage(program, optimizer);
  AddState(program, parameters, optimizer, row, from_start ? StepId(0) : make_state);
  for (Buffer& buffer : TemporaryBuffers(program, parameters, optimizer, row, update, first_step)) {
    program.buffers.Add(std::move(buffer));
  }
  return program;
}

MemoryProgram LaterStep(MemoryProgram program, const std::vector<TrainedParameter>& parameters,
                        const Optimizer& optimizer) {
  const OptimizerRow* row = FindRow(optimizer.name);
  if (row != nullptr && row->name == "none") return program;
  auto end = program.buffers.end();
  while (end != program.buffers.begin() && std::prev(end)->category == Category::kOptimizerTemporaries) --end;
  for (auto it = end; it != program.buffers.begin() && std::prev(it)->category == Category::kOptimizerState; --it) {
    std::prev(it)->begin = StepId(0);
  }
  const StepId update(program.steps.next_id().value() - 1);
  std::vector<Buffer> temporaries = TemporaryBuffers(program, parameters, optimizer, row, update, /*first_step=*/false);
  auto next = temporaries.begin();
  while (end != program.buffers.end() && next != temporaries.end()) *end++ = std::move(*next++);
  if (end != program.buffers.end()) {  // less to replace them with
    IdVector<BufferId, Buffer> kept;
    for (auto it = program.buffers.begin(); it != end; ++it) kept.Add(std::move(*it));
    program.buffers = std::move(kept);
  }
  for (; next != temporaries.end(); ++next) program.buffers.Add(std::move(*next));
  return program;
}

int64_t LaterStepPeak(const MemoryProgram& trace, const std::vector<TrainedParameter>& parameters,
                      const Optimizer& optimizer) {
  const int64_t peak = ComputeTimeline(trace).peak_bytes;
  const OptimizerRow* row = FindRow(optimizer.name);
  int64_t state = AveragedBytes(trace, optimizer), update = 0;
  if (row != nullptr && row->name == "none") return peak + state;
  for (const StateTensor& shared : SharedState(row, parameters)) state += shared.bytes;
  for (const TrainedParameter& p : parameters) {
    for (const StateTensor& tensor : StateOf(optimizer, row, p)) state += tensor.bytes;
  }
  for (const int64_t bytes : Temporaries(optimizer, row, parameters, /*first_step=*/false)) update += bytes;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.end == trace.steps.next_id()) update += buffer.bytes;
  }
  return state + std::max(peak, update);
}

}  // namespace onnx_mem
