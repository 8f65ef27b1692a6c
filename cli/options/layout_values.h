// What the options of a training step over several cards do with their values.
#ifndef ONNX_MEM_CLI_OPTIONS_LAYOUT_VALUES_H_
#define ONNX_MEM_CLI_OPTIONS_LAYOUT_VALUES_H_

#include <string_view>

#include "absl/status/status.h"
#include "cli/options/options.h"

namespace onnx_mem {

absl::Status SetDdp(std::string_view text, Options& options);  // "8": ranks; of each strategy also "2,4,8" and "2..64"
absl::Status SetZero1(std::string_view text, Options& options);           // "8"
absl::Status SetFsdp(std::string_view text, Options& options);            // "8", "8:h\.\d+", "8:none"
absl::Status SetHsdp(std::string_view text, Options& options);            // "2x8:h\.\d+": replicas and ranks
absl::Status SetTensorParallel(std::string_view text, Options& options);  // "4", "4:plan.json"
absl::Status SetPipeline(std::string_view text, Options& options);        // "4"
absl::Status SetSplit(std::string_view text, Options& options);           // "layers.8,layers.16"
absl::Status SetReshard(std::string_view text, Options& options);
absl::Status SetRank(std::string_view text, Options& options);

// A layout is of training under PyTorch alone.
void SettleLayout(Options& options);
absl::Status CheckLayout(const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_LAYOUT_VALUES_H_
