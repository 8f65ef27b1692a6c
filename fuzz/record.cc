// The record of a running model, from its text to what a training step and an inference take. The last byte says how it
// is requested.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnx_mem/onnx_mem.h"

namespace mem = onnx_mem::api;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  constexpr std::array<const char*, 4> kLosses = {"auto", "sum", "mse", "cross-entropy"};
  constexpr std::array<const char*, 4> kDtypes = {"file", "fp32", "fp16", "bf16"};
  constexpr std::array<const char*, 4> kOptimizers = {"adam", "none", "sgd", "adafactor"};
  const auto model = mem::Model::Parse(text, "fuzz.eager");
  if (!model || size == 0) return 0;
  const unsigned how = data[size - 1];
  mem::Question workload;
  workload.batches = {1 + static_cast<int64_t>(how % 3)};
  workload.loss = kLosses[how % kLosses.size()];
  workload.dtype = kDtypes[how / 4 % kDtypes.size()];
  workload.optimizer = kOptimizers[how / 16 % kOptimizers.size()];
  const auto analysis = model->Analyze(workload, {});
  if (analysis) (void)analysis->report.Render("json");
  return 0;
}
