// onnx-mem A B ...: several models side by side, where parameters, FLOPs and memory lie in each.
#ifndef ONNX_MEM_CLI_COMMANDS_MODELS_H_
#define ONNX_MEM_CLI_COMMANDS_MODELS_H_

#include "absl/status/statusor.h"
#include "cli/commands/commands.h"
#include "cli/options/options.h"

namespace onnx_mem {

// The answer is no where one of them does not fit a card or the budget.
absl::StatusOr<CommandAnswer> AnalyzeModels(const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_MODELS_H_
