#include "analyzer/analysis/enact.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "analyzer/analysis/kept_gradients.h"
#include "analyzer/analysis/loop.h"
#include "analyzer/analysis/pass_flops.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/analysis/statics.h"
#include "analyzer/analysis/step_tracer.h"
#include "analyzer/eager/engine/autograd.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/engine/loss.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/engine/micro_batches.h"
#include "analyzer/eager/engine/output_loss.h"
#include "analyzer/eager/spans/received_gradients.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/memory/timeline.h"
#include "analyzer/memory/verify_program.h"
#include "analyzer/run/limits.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

using eager::Executor;
using eager::Machine;
using eager::TensorRef;

// Some layer's statistics are those of the batch, in training.
bool NormalizesBatches(const FrameworkGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) { return NormalizesBatch(node.op); });
}

// Floating outputs that the loss is computed on. A policy returns a parameter as it is: the logarithm of its
// deviations.
TensorIds LossOutputs(const Lowered& lowered) {
  TensorIds outputs;
  for (TensorId id : lowered.graph.outputs) {
    const TensorKind kind = lowered.kinds[id];
    const bool learns = kind == TensorKind::kActivation || kind == TensorKind::kParameter;
    if (learns && IsFloating(lowered.graph.tensors[id].dtype)) outputs.push_back(id);
  }
  return eager::WithHistory(lowered.graph, outputs);
}

TensorRef ComputeLoss(Machine& m, LossKind kind, const Lowered& lowered, const Executor& executor,
                      const TensorIds& outputs) {
  m.recorder().SetPhase(Phase::kLoss);
  m.SetOrigin(nullptr);
  TensorRef loss;
  const bool any = std::any_of(outputs.begin(), outputs.end(),
                               [&](TensorId id) { return executor.value(id) && executor.value(id)->requires_grad; });
  for (TensorId id : outputs) {
    if (executor.value(id) == nullptr) continue;
    if (any && !executor.value(id)->requires_grad) continue;  // no loss is made of what nothing is learnt from
    TensorRef one = eager::LossOfOutput(m, kind, lowered, id, executor.value(id));
    loss = loss == nullptr ? one : eager::AddLosses(m, loss, one);
  }
  return loss;
}

int64_t SavedBytes(const MemoryProgram& program) {
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.category == Category::kSavedActivations && !buffer.end.valid()) bytes += buffer.bytes;
  }
  return bytes;
}

// Everything that is fixed while one enactment runs.
struct Setting {
  const Lowered& lowered;
  const Run& run;
  std::vector<NamePattern> frozen = {};
  std::vector<eager::NodeRange> ranges = {};
  LossKind loss = LossKind::kNone;
  TensorIds loss_outputs = {};
  bool sends = false;  // a pipeline's stage that is not the last
};

// The loss, and the gradient with which its backward begins where that is given.
std::pair<TensorRef, TensorRef> LossOfStep(Machine& m, const Setting& setting, Executor& executor) {
  if (!setting.run.training || setting.loss == LossKind::kNone) return {};
  if (setting.loss == LossKind::kOwn) return {executor.value(setting.lowered.loss), nullptr};
  if (setting.loss == LossKind::kGradient) return GivenGradient(m, executor, setting.loss_outputs);
  return {ComputeLoss(m, setting.loss, setting.lowered, executor, setting.loss_outputs), nullptr};
}

// What nodes read, which a cat of a thousand pieces does in one step.
int64_t Operands(const FrameworkGraph& graph) {
  int64_t operands = 0;
  for (const FrameworkNode& node : graph.nodes) operands += std::ssize(node.inputs);
  return operands / 2;
}

// Casts of weights are kept to here: those that are enacted, and those that are lines of a record.
void LeaveAutocast(const Setting& setting, Machine& m, Executor& executor) {
  m.SetAutocast(std::nullopt);
  if (setting.lowered.has_own_casts && setting.run.autocast) executor.ReleaseCasts();
}

// The forward pass and the loss (LossOfStep); `result` gets what is to be said of them.
absl::StatusOr<std::pair<TensorRef, TensorRef>> RunForward(const Setting& setting, Machine& m, Executor& executor,
                                                           StepTracer& tracer, Enacted& result) {
  const FrameworkGraph& graph = setting.lowered.graph;
  const Run& run = setting.run;
  RETURN_IF_ERROR(executor.RunForward(setting.ranges));
  executor.ReleaseLocals();
  if (!LossIsUnderAutocast(run)) LeaveAutocast(setting, m, executor);
  HandOutOutputs(run, executor);
  result.end_of_forward_bytes = m.recorder().live_bytes();
  result.saved_activation_bytes = SavedBytes(m.recorder().program());
  if (LossIsUnderAutocast(run)) m.SetAutocast(run.autocast);
  std::pair<TensorRef, TensorRef> loss = LossOfStep(m, setting, executor);
  LeaveAutocast(setting, m, executor);
  tracer.Finish();
  result.inputs = eager::StoragesOf(executor, graph.inputs);
  result.outputs = eager::StoragesOf(executor, graph.outputs);
  result.held_output_bytes = HoldOutputs(run, executor);
  return loss;
}

// `gradients`: those of an earlier micro-step, on return those that the next one finds. `trace`, if given, gets all but
// what is returned.
absl::StatusOr<Enacted> RunStep(const Setting& setting, std::vector<KeptGradient>& gradients,
                                StepTrace* trace = nullptr) {
  RETURN_IF_ERROR(work::CheckLeft());
  const FrameworkGraph& graph = setting.lowered.graph;
  const Run& run = setting.run;
  Enacted result;
  result.loss = setting.loss;
  Machine m(run);
  // As many as products of matrices take, which have most: what is not used is never backed with memory.
  const size_t steps = graph.nodes.size() * (run.training ? 6 : 2);
  m.recorder().Reserve(steps, steps + graph.tensors.size());
  Executor executor(m, setting.lowered, run.hold);
  AllocateStatics(executor, setting.lowered, run, setting.frozen);
  const std::vector<std::shared_ptr<eager::Storage>> beside =
      HeldBesideModel(setting.lowered, run, setting.loss, setting.loss_outputs, m);
  const bool after_another = !gradients.empty();
  TakeOver(gradients, m, executor);
  m.SetGradEnabled(run.training);
  m.SetAutocast(setting.lowered.has_own_casts ? std::nullopt : run.autocast);
  StepTracer tracer(m, executor, trace);
  ASSIGN_OR_RETURN(const auto losses, RunForward(setting, m, executor, tracer, result));
  const auto& [loss, gradient] = losses;
  const StepId loss_end = m.recorder().program().steps.next_id();
  if (loss != nullptr) RunBackward(m, loss, gradient);
  if (setting.sends) eager::RunReceivedBackward(m, executor, graph.outputs);
  tracer.FinishBackward();
  m.SetOrigin(nullptr);
  m.BeginStep(loss != nullptr || setting.sends ? kEndOfBackward : "end of forward");
  result.host_peak_bytes = m.recorder().host_peak_bytes();
  AddParameters(m, executor, graph, result);
  gradients = KeptGradients(m, executor);
  for (const Buffer& buffer : m.recorder().program().buffers) {
    if (buffer.category == Category::kBuffers) result.buffer_bytes += buffer.bytes;
  }
  result.program = m.recorder().Finish();
  if (!after_another) HoldThroughForward(run, gradients, loss_end, result.program);
  work::Spend(static_cast<int64_t>(result.program.steps.size()) + Operands(graph));
  RETURN_IF_ERROR(SumFlops(result.program, result));
  return result;
}

// Checkpoint calls of the model's own code, but for those that meet a segment that was requested.
void AddOwnCheckpoints(const Lowered& lowered, const Run& run, std::vector<eager::NodeRange>& ranges) {
  if (!run.training) return;
  const std::vector<eager::NodeRange> requested = ranges;
  for (const CheckpointCall& call : lowered.checkpointed) {
    const NodeSpan& span = call.span;
    const bool meets = std::any_of(requested.begin(), requested.end(), [&](const eager::NodeRange& range) {
      return range.first <= span.last && span.first <= range.last;
    });
    if (meets) continue;
    eager::NodeRange& range = ranges.emplace_back(eager::NodeRange{span});
    range.arguments = call.arguments;
    range.reentrant = call.reentrant;
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

absl::Status CheckFunctions(const Lowered& lowered, const std::vector<eager::NodeRange>& ranges) {
  for (const eager::NodeRange& range : ranges) {
    const UserFunction* function = FunctionCutBy(lowered, range);
    if (function == nullptr) continue;
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPlan,
                       absl::StrCat("a segment of the plan cuts '", function->name,
                                    "', an autograd.Function, whose forward runs as one"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Setting> SettingOf(const Lowered& lowered, const Run& run, const ModuleNodes* modules = nullptr) {
  Setting setting{.lowered = lowered, .run = run};
  ASSIGN_OR_RETURN(setting.frozen, FrozenPatterns(run));
  ASSIGN_OR_RETURN(setting.ranges, SegmentRanges(lowered.graph, run, modules));
  setting.loss_outputs = LossOutputs(lowered);
  setting.loss = LossOf(lowered, run.loss);
  RETURN_IF_ERROR(CheckFunctions(lowered, setting.ranges));
  AddOwnCheckpoints(lowered, run, setting.ranges);
  return setting;
}

}  // namespace

LossKind LossOf(const Lowered& lowered, LossKind requested) {
  if (lowered.loss.valid() && requested == LossKind::kAuto) return LossKind::kOwn;
  return eager::ResolveLoss(requested, lowered.graph, LossOutputs(lowered));
}

absl::StatusOr<StepTrace> TraceStep(const Lowered& lowered, const Run& run) {
  ASSIGN_OR_RETURN(const Setting setting, SettingOf(lowered, run));
  std::vector<KeptGradient> gradients;
  StepTrace trace;
  ASSIGN_OR_RETURN(trace.enacted, RunStep(setting, gradients, &trace));
  RETURN_IF_ERROR(VerifyProgram(trace.enacted.program));
  return trace;
}

absl::StatusOr<Enacted> EnactSendingStage(const Lowered& lowered, const Run& run) {
  ASSIGN_OR_RETURN(Setting setting, SettingOf(lowered, run));
  setting.loss = LossKind::kNone;
  setting.sends = true;
  std::vector<KeptGradient> gradients;
  ASSIGN_OR_RETURN(Enacted result, RunStep(setting, gradients));
  RETURN_IF_ERROR(VerifyProgram(result.program));
  return result;
}

absl::StatusOr<Enacted> EnactLowered(const Lowered& lowered, const Run& run, const ModuleNodes* modules) {
  ASSIGN_OR_RETURN(const Setting setting, SettingOf(lowered, run, modules));
  std::vector<KeptGradient> gradients;
  ASSIGN_OR_RETURN(Enacted result, RunStep(setting, gradients));
  if (run.training && run.accumulate > 1) {
    ASSIGN_OR_RETURN(const Enacted later, RunStep(setting, gradients));
    result.program = RunInOrder(result.program, later.program, OneAfterAnother(2));
  }
  result.batch_statistics = lowered.hidden_buffer_bytes > 0 || (lowered.recorded && NormalizesBatches(lowered.graph));
  RETURN_IF_ERROR(VerifyProgram(result.program));
  result.diagnostics = lowered.diagnostics;
  result.plain_rewrites = lowered.plain_rewrites;
  result.assumptions = lowered.assumptions;
  if (setting.loss == LossKind::kOwn) return result;
  result.loss_tokens = eager::TokensOfLoss(run.loss, lowered.graph, setting.loss_outputs);
  return result;
}

absl::StatusOr<Enacted> Enact(const Graph& graph, const Run& run) {
  ASSIGN_OR_RETURN(const Lowered lowered, Prepare(graph, run));
  return EnactLowered(lowered, run);
}

}  // namespace onnx_mem
