#include "analyzer/analysis/loop.h"

#include <utility>

#include "analyzer/eager/engine/output_loss.h"

namespace onnx_mem {

std::vector<std::shared_ptr<eager::Storage>> HeldBesideModel(const Lowered& lowered, const Run& run, LossKind loss,
                                                             const TensorIds& loss_outputs, eager::Machine& m) {
  std::vector<std::shared_ptr<eager::Storage>> held;
  if (lowered.hidden_buffer_bytes > 0) {
    held.push_back(m.recorder().AllocateStatic(Category::kBuffers, "counters of the batch norms",
                                               lowered.hidden_buffer_bytes, {}, DType::kInt64));
  }
  if (!run.training || loss == LossKind::kOwn) return held;
  for (TensorId id : loss_outputs) {
    const int64_t bytes = eager::TargetBytes(loss, lowered.graph, id, run.autocast.has_value());
    if (bytes > 0) {
      held.push_back(m.recorder().AllocateStatic(Category::kInputs, "target", bytes, {}, DType::kInt64));
    }
  }
  return held;
}

// accelerate 1.15, accelerator.py, prepare_model: convert_outputs_to_fp32(autocast_context(forward)). lightning 2.6,
// fabric/wrappers.py, _FabricModule.forward: precision.forward_context().
bool LossIsUnderAutocast(const Run& run) { return RowOf(run.trainer).wide_outputs == WideOutputs::kNo; }

void HandOutOutputs(const Run& run, eager::Executor& executor) {
  const WideOutputs wide = RowOf(run.trainer).wide_outputs;
  const bool converts =
      wide == WideOutputs::kAlways || (wide == WideOutputs::kUnderAutocast && run.autocast.has_value());
  if (run.training && converts) executor.ConvertOutputs(DType::kFloat32);
}

std::pair<eager::TensorRef, eager::TensorRef> GivenGradient(eager::Machine& m, const eager::Executor& executor,
                                                            const TensorIds& outputs) {
  m.recorder().SetPhase(Phase::kLoss);
  m.SetOrigin(nullptr);
  for (TensorId id : outputs) {
    const eager::TensorRef& output = executor.value(id);
    if (output == nullptr || !output->requires_grad) continue;
    eager::TensorRef gradient = m.New("randn_like", output->dims, output->dtype);
    m.recorder().MarkHeld(gradient->storage->buffer, "a gradient that your loop made");
    return {output, std::move(gradient)};
  }
  return {};
}

int64_t HoldOutputs(const Run& run, eager::Executor& executor) {
  if (!run.training) return 0;
  if (RowOf(run.trainer).drops_outputs) executor.ReleaseOutputs();
  return executor.OutputBytes();
}

void HoldThroughForward(const Run& run, const std::vector<KeptGradient>& gradients, StepId loss_end,
                        MemoryProgram& program) {
  if (!run.training || !RowOf(run.trainer).gradients_in_forward) return;
  for (const KeptGradient& gradient : gradients) {
    Buffer buffer;
    buffer.name = gradient.name;
    buffer.category = Category::kGradients;
    buffer.bytes = gradient.bytes;
    buffer.begin = StepId(0);
    buffer.end = loss_end;
    buffer.dims = gradient.dims;
    buffer.dtype = gradient.dtype;
    buffer.kept_by = "zero_grad() after forward";
    program.buffers.Add(std::move(buffer));
  }
}

}  // namespace onnx_mem
