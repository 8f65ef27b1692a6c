#include "analyzer/eager/engine/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/spans/spans.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/run/limits.h"

namespace onnx_mem::eager {
namespace {

Category CategoryOf(TensorKind kind) {
  if (kind == TensorKind::kParameter) return Category::kParameters;
  return kind == TensorKind::kBuffer ? Category::kBuffers : Category::kInputs;
}

// Whether `row` can take the call with the tensors that are there: what a graph says of their shapes may be wrong.
bool FitsAsMade(const OpRow& row, const Call& call) {
  CallShape shape{.node = call.node, .inputs = {}};
  for (const TensorRef& input : call.inputs) shape.inputs.push_back(input != nullptr ? &input->dims : nullptr);
  shape.output = &call.output_dims();
  return Fits(row, shape);
}

}  // namespace

Executor::Executor(Machine& machine, const Lowered& lowered, std::span<const std::string> held)
    : m_(machine),
      graph_(lowered.graph),
      kinds_(lowered.kinds),
      lowered_(lowered),
      release_after_(lowered.releases),
      dropped_after_(graph_.nodes.size() + 1),
      values_(graph_.tensors.size()),
      held_(held) {
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    // A table with a release is what the step before left behind, and this one replaces.
    const bool released =
        kinds_[id] == TensorKind::kActivation || (lowered.recorded && kinds_[id] == TensorKind::kBuffer);
    if (!released || release_after_[id] < 0) continue;
    const bool named = std::find(held.begin(), held.end(), graph_.tensors[id].name) != held.end();
    if (named) release_after_[id] = static_cast<int32_t>(graph_.nodes.size());
    dropped_after_[static_cast<size_t>(release_after_[id])].push_back(id);
  }
  for (const ReplacedTensor& replaced : lowered.replaced) {
    const NodeId maker = graph_.tensors[replaced.now].producer;
    if (maker.valid()) dropped_after_[static_cast<size_t>(maker.value())].push_back(replaced.before);
  }
  if (!graph_.nodes.empty()) m_.SetNodes({&*graph_.nodes.begin(), graph_.nodes.size()});
  m_.SetCountsNumbers(!lowered.recorded);
  m_.SetDropsNodes(lowered.recorded);
  for (const UserFunction& function : lowered.functions) {
    function_from_[function.span.first] = &function;
    function_to_[function.span.last] = &function;
  }
}

void Executor::AllocateStatics(const std::function<bool(TensorId)>& trainable,
                               const std::function<bool(const Tensor&)>& wants_grad) {
  for (TensorKind kind : {TensorKind::kParameter, TensorKind::kBuffer, TensorKind::kInput}) {
    for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
      if (kinds_[id] != kind) continue;
      const Tensor& tensor = graph_.tensors[id];
      auto t = std::make_shared<EagerTensor>();
      t->dims = tensor.shape.dims;
      const auto strides = lowered_.strides.find(id);
      t->strides = strides == lowered_.strides.end() ? ContiguousStrides(t->dims) : strides->second;
      t->dtype = tensor.dtype;
      const auto window = lowered_.windows.find(id);
      if (window != lowered_.windows.end() && values_[window->second] != nullptr) {
        t->storage = values_[window->second]->storage;
      } else {
        const bool dense = strides == lowered_.strides.end();
        const int64_t bytes = dense ? DenseBytes(t->dims, t->dtype) : SpannedBytes(*t);
        t->storage = m_.recorder().AllocateStatic(CategoryOf(kind), ShownName(tensor), bytes, t->dims, t->dtype);
      }
      t->requires_grad = IsDifferentiable(t->dtype) && ((kind == TensorKind::kParameter && trainable(id)) ||
                                                        (kind == TensorKind::kInput && wants_grad(tensor)));
      t->is_leaf_parameter = t->requires_grad;
      if (kind == TensorKind::kParameter) parameters_.push_back(id);
      values_[id] = std::move(t);
    }
  }
}

// What a Python number stood for in lowering, but an operator's rule wants on the device, is made for the call.
void Executor::MakeMissingInputs(const OpRow& row, Call& call) {
  for (size_t i = 0; i < static_cast<size_t>(row.inputs); ++i) {
    if (call.inputs[i] != nullptr) continue;
    const Tensor& tensor = graph_.tensors[call.node.inputs[i]];
    call.inputs[i] = m_.New("tensor", tensor.shape.dims, tensor.dtype);
  }
}

void Executor::NoteHolder(TensorId id, const EagerTensor& value) {
  const int32_t until = release_after_[id];
  if (until == static_cast<int32_t>(graph_.nodes.size())) {
    const bool output = std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
    m_.recorder().MarkHeld(value.storage->buffer, output ? "an output of the model" : "held by name");
    return;
  }
  const auto& readers = graph_.tensors[id].consumers;
  if (until < 0 || std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return r.value() >= until; })) return;
  const FrameworkNode& last = graph_.nodes[NodeId(until)];
  const std::string& place = last.module.empty() ? last.name : last.module;
  m_.recorder().MarkHeld(value.storage->buffer, absl::StrCat("held by forward code until ", place, " is done"));
}

Outputs Executor::RunOperator(const FrameworkNode& node, const NameFrame& frame, std::vector<TensorRef>* observed) {
  Outputs outputs(node.outputs.size());
  Call call{graph_, node, {}};
  call.inputs.reserve(node.inputs.size());
  for (TensorId id : node.inputs) call.inputs.push_back(id.valid() ? frame.read(id) : nullptr);
  const OpRow& row = *FindOp(node.op);
  MakeMissingInputs(row, call);
  const bool grad = m_.grad_enabled();
  const bool without = grad && IntAttribute(node, "requires_grad_none", 0) != 0;
  if (without) m_.SetGradEnabled(false);
  const StepId before_call = m_.recorder().current_step();
  const auto ran = [&] { return m_.recorder().current_step() != before_call; };
  try {
    (FitsAsMade(row, call) ? row : *FindOp("assumed")).enact(m_, call, outputs);
  } catch (...) {
    if (ran()) m_.recorder().AddMovedBytes(MovedBytesUntilStop(call, m_.recorder()));
    throw;
  }
  m_.SetGradEnabled(grad);
  // What is written over without gradients keeps its history.
  if ((without || !grad) && call.inplace() && !outputs.empty() && outputs[0] != nullptr && call.input(0) != nullptr &&
      outputs[0]->storage == call.input(0)->storage) {
    outputs[0] = call.input(0);
  }
  if (ran()) m_.recorder().AddMovedBytes(MovedBytes(call, outputs));
  if (observed != nullptr) *observed = std::move(call.inputs);
  // An output that the operator's rule does not know is a tensor of its own.
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != nullptr || !node.outputs[i].valid()) continue;
    const Tensor& tensor = graph_.tensors[node.outputs[i]];
    m_.BeginStep(node.op);
    m_.SetNextOutput(static_cast<int>(i));
    outputs[i] = m_.Allocate(tensor.shape.dims, tensor.dtype);
  }
  return outputs;
}

void Executor::RunNode(int32_t index, const NameFrame& frame) {
  const FrameworkNode& node = graph_.nodes[NodeId(index)];
  m_.SetOrigin(&node);
  if (const auto begins = function_from_.find(index); begins != function_from_.end()) {
    function_ = MakeFunction(*this, *begins->second);
    function_->Before(frame);
  }
  const StepId before = m_.recorder().current_step();
  std::vector<TensorRef> observed;
  SpanHook* const span = m_.span();
  if (span != nullptr) span->BeforeNode(index);
  const bool watched = span != nullptr && span->watches();
  Outputs outputs = RunOperator(node, frame, observer_ || watched ? &observed : nullptr);
  m_.EndDispatch();
  if (watched) span->AfterOperator(observed, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const BufferId buffer = outputs[i]->storage->buffer;
    if (!m_.recorder().IsNamed(buffer)) m_.recorder().SetName(buffer, graph_.tensors[node.outputs[i]].name);
    NoteHolder(node.outputs[i], *outputs[i]);
  }
  if (observer_) observer_(index, observed, outputs, before);
  observed.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i].valid()) frame.write(node.outputs[i], std::move(outputs[i]));
  }
  if (function_to_.contains(index)) std::exchange(function_, nullptr)->After(frame);
}

NameFrame Executor::OwnFrame() {
  return {.read = [this](TensorId id) { return values_[id]; },
          .write = [this](TensorId id, TensorRef t) { values_[id] = std::move(t); }};
}

void Executor::DropAfter(int32_t index) {
  for (TensorId id : dropped_after_[static_cast<size_t>(index)]) values_[id].reset();
}

absl::Status Executor::RunForward(std::span<const NodeRange> checkpointed) {
  if (absl::Status status = CheckOperators(graph_); !status.ok()) return status;
  m_.recorder().SetPhase(Phase::kForward);
  size_t next_range = 0;
  const auto count = static_cast<int32_t>(graph_.nodes.size());
  const NameFrame frame = OwnFrame();
  m_.SetSpan(tracer_);
  for (int32_t i = 0; i < count; ++i) {
    if (next_range < checkpointed.size() && checkpointed[next_range].first == i) {
      RETURN_IF_ERROR(RunSpan(checkpointed[next_range]));
      i = checkpointed[next_range++].last;
      continue;
    }
    RunNode(i, frame);
    DropAfter(i);
    if (static_cast<int64_t>(m_.recorder().program().steps.size()) > limits::ForwardSteps(count))
      return TooManySteps(i);
  }
  m_.SetSpan(nullptr);
  return absl::OkStatus();
}

absl::Status Executor::TooManySteps(int32_t node) const {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                     absl::StrCat("with ", Describe(graph_, NodeId(node)), " the forward has more than ",
                                  limits::ForwardSteps(std::ssize(graph_.nodes)), " steps"),
                     {"way out: a shorter sequence, with --dim or --input"});
}

TensorIds Executor::ReadWithin(const NodeSpan& span) const {
  TensorIds ids;
  for (int32_t i = span.first; i <= span.last; ++i) {
    const TensorIds& inputs = graph_.nodes[NodeId(i)].inputs;
    ids.insert(ids.end(), inputs.begin(), inputs.end());
    const auto found = function_to_.find(i);
    if (found == function_to_.end()) continue;
    const UserFunction& function = *found->second;
    ids.insert(ids.end(), function.saved.begin(), function.saved.end());
    ids.insert(ids.end(), function.held.begin(), function.held.end());
    for (const auto& [gradient, input] : function.gradients_to) ids.push_back(input);
  }
  EraseIf(ids, [](TensorId id) { return !id.valid(); });
  return ids;
}

absl::Status Executor::RunSpan(const NodeRange& range) {
  const std::shared_ptr<SpanHook> hook = HookOf(*this, range, offloads_);
  const NameFrame frame = OwnFrame();
  hook->Before(frame);
  m_.SetSpan(hook.get());
  for (int32_t i = range.first; i <= range.last; ++i) {
    RunNode(i, frame);
    hook->AfterNode();
    DropAfter(i);
  }
  m_.SetSpan(tracer_);
  hook->After(frame);
  return hook->status();
}

Values Executor::RunAgain(const NodeSpan& span, Values values) {
  const NameFrame frame = FrameOn(values);
  for (int32_t i = span.first; i <= span.last; ++i) {
    RunNode(i, frame);
    for (TensorId id : dropped_after_[static_cast<size_t>(i)]) values.erase(id);
  }
  return values;
}

void Executor::ReleaseLocals() {
  for (TensorId id(0); graph_.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const bool is_output = release_after_[id] == static_cast<int32_t>(graph_.nodes.size());
    if (kinds_[id] == TensorKind::kActivation && !is_output) values_[id].reset();
  }
}

void Executor::ConvertOutputs(DType dtype) {
  std::vector<std::pair<TensorId, TensorRef>> converted;
  m_.SetOrigin(nullptr);
  for (TensorId id : graph_.outputs) {
    const TensorRef& value = values_[id];
    if (kinds_[id] != TensorKind::kActivation || value == nullptr) continue;
    if (IsFloating(value->dtype) && value->dtype != dtype) converted.emplace_back(id, ToCopy(m_, value, dtype));
  }
  for (auto& [id, value] : converted) {
    m_.recorder().MarkHeld(value->storage->buffer, "an output of the model, converted by the trainer");
    values_[id] = std::move(value);
  }
}

void Executor::ReleaseOutputs() {
  for (TensorId id : graph_.outputs) {
    const bool named = std::find(held_.begin(), held_.end(), graph_.tensors[id].name) != held_.end();
    if (kinds_[id] == TensorKind::kActivation && !named) values_[id].reset();
  }
}

int64_t Executor::OutputBytes() const {
  absl::flat_hash_map<const Storage*, int64_t> storages;
  for (TensorId id : graph_.outputs) {
    if (kinds_[id] != TensorKind::kActivation || values_[id] == nullptr) continue;
    storages[values_[id]->storage.get()] = values_[id]->storage->bytes;
  }
  int64_t bytes = 0;
  for (const auto& [storage, size] : storages) bytes += size;
  return bytes;
}

}  // namespace onnx_mem::eager
