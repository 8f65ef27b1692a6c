// onnx-mem A B ...: several models side by side, where parameters, FLOPs and memory lie in each.
#ifndef ONNX_MEM_CLI_COMMANDS_MODELS_H_
#define ONNX_MEM_CLI_COMMANDS_MODELS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/commands.h"
#include "cli/options/options.h"
#include "cli/report/analyze/report.h"

namespace onnx_mem {

// `limits`: what each is held against; the answer is no where one of them needs more.
absl::StatusOr<Answer> AnalyzeModels(const Options& options, const std::vector<Limit>& limits);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_MODELS_H_
