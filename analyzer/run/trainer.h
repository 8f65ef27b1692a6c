// Who runs the training step, and what that loop holds: one row for each, with the lines of its source that say so.
// onnx-mem's own step (docs/explanation/accuracy.md) is that of a plain function: it holds the outputs to its end.
#ifndef ONNX_MEM_ANALYZER_RUN_TRAINER_H_
#define ONNX_MEM_ANALYZER_RUN_TRAINER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace onnx_mem {

enum class Trainer : uint8_t { kPlain, kHuggingFace, kLightning, kFabric };

// Whether the loop gets copies in float32 of outputs in half precision.
enum class WideOutputs : uint8_t { kNo, kUnderAutocast, kAlways };

struct TrainerRow {
  Trainer trainer;
  std::string_view name;
  bool drops_outputs;         // the variable of the model's outputs ends before backward; the loss alone is left
  bool gradients_in_forward;  // zero_grad() runs between forward and backward: the last step's live until then
  WideOutputs wide_outputs;
  bool packs_as_half;           // --base-bits: its plugin packs every linear layer, the head too, as float16
  std::string_view fused_from;  // from this version of PyTorch its Adam is the fused one; "": it is the user's
  std::string_view source;
};

inline constexpr auto kTrainers = std::to_array<TrainerRow>({
    {Trainer::kPlain, "plain", false, false, WideOutputs::kNo, false, "",
     "outputs = model(inputs); loss = ...; loss.backward(); optimizer.step(); optimizer.zero_grad(), in one function"},
    {Trainer::kHuggingFace, "hf", true, false, WideOutputs::kUnderAutocast, false, "2.8",
     "transformers 4.30 to 5.23, trainer.py: compute_loss returns the loss alone, before accelerator.backward; "
     "_run_epoch: optimizer.step(), then model.zero_grad(). accelerate 1.15, accelerator.py, prepare_model: "
     "convert_outputs_to_fp32 where native_amp is on. training_args.py: default_optim is adamw_torch_fused where "
     "is_torch_greater_or_equal_than_2_8"},
    {Trainer::kLightning, "lightning", true, true, WideOutputs::kNo, false, "",
     "lightning 2.6, pytorch/loops/optimization/automatic.py, Closure.closure: training_step, whose frame ends, then "
     "zero_grad, then backward"},
    {Trainer::kFabric, "fabric", false, false, WideOutputs::kAlways, true, "",
     "lightning 2.6, fabric/wrappers.py, _FabricModule.forward: precision.convert_output; plugins/precision/half.py "
     "and "
     "amp.py: to torch.get_default_dtype(); bitsandbytes.py: weight.contiguous().to(device=device, dtype=torch.half). "
     "The loop is the user's own: its variable holds what the module returned"},
});

constexpr const TrainerRow& RowOf(Trainer trainer) { return kTrainers[static_cast<size_t>(trainer)]; }
static_assert([] {
  for (size_t i = 0; i < kTrainers.size(); ++i) {
    if (static_cast<size_t>(kTrainers[i].trainer) != i) return false;
  }
  return true;
}());

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_TRAINER_H_
