// What a run sets of the facts that files do not hold.
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/table/assumptions.h"

namespace onnx_mem {
namespace {

std::string DropoutSetting(const Run& run) {
  if (!run.dropout) return "";
  if (*run.dropout == 0.0) return "file";
  return absl::StrCat(*run.dropout, run.dropout_behind.empty() ? "" : ":", run.dropout_behind);
}

std::string InPlaceSetting(const Run& run) { return run.inplace; }

std::string AttentionSetting(const Run& run) {
  switch (run.attention) {
    case AttentionKernel::kAuto: return "auto";
    case AttentionKernel::kEager: return "eager";
    case AttentionKernel::kMath: return "math";
    case AttentionKernel::kFlash: return "flash";
    case AttentionKernel::kEfficient: return "efficient";
  }
  return "auto";
}

std::string BatchNormSetting(const Run& run) {
  switch (run.batch_norm) {
    case BatchNormMode::kAuto: return "auto";
    case BatchNormMode::kAsIs: return "as-is";
    case BatchNormMode::kUnfold: return "unfold";
  }
  return "auto";
}

constexpr AssumedSetting kSettings[] = {
    {.option = "dropout", .inference = false, .value = DropoutSetting},
    {.option = "inplace", .value = InPlaceSetting},
    {.option = "attention", .of_records = true, .value = AttentionSetting},
    {.option = "bn", .inference = false, .value = BatchNormSetting},
};

}  // namespace

std::span<const AssumedSetting> AssumedSettings() { return kSettings; }

}  // namespace onnx_mem
