// A model, from its bytes to every form of its report. The last byte says what is requested of it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnx_mem/onnx_mem.h"

namespace mem = onnx_mem::api;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr std::array<const char*, 5> kFormats = {"table", "json", "csv", "md", "quiet"};
  constexpr std::array<const char*, 4> kDtypes = {"file", "fp32", "fp16", "bf16"};
  constexpr std::array<const char*, 5> kOptimizers = {"adam", "none", "sgd", "adafactor", "adamw"};
  const unsigned how = data[size - 1];
  const auto model = mem::Model::Parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.onnx");
  if (!model) return 0;
  mem::Question workload;
  workload.batches = {1 + static_cast<int64_t>(how % 3)};
  workload.dtype = kDtypes[how % kDtypes.size()];
  workload.optimizer = kOptimizers[how % kOptimizers.size()];
  mem::Listing listing;
  listing.by = how % 2 == 0 ? "layer" : "tensor";
  auto analysis = model->Analyze(workload, listing);
  if (!analysis && analysis.error().code == "unbound-dim") {
    workload.dims = {{"seq", 8}};
    analysis = model->Analyze(workload, listing);
  }
  if (analysis) (void)analysis->report.Render(kFormats[how % kFormats.size()]);
  return 0;
}
