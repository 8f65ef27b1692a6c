// The commands: one row each, one file each. A command turns Options into a CommandAnswer; main.cc prints it.
#ifndef ONNX_MEM_CLI_COMMANDS_COMMANDS_H_
#define ONNX_MEM_CLI_COMMANDS_COMMANDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/answers/answers.h"
#include "cli/options/option_table.h"
#include "cli/options/options.h"

namespace onnx_mem {

// `answer` with the text of its report, as the user wants to see it.
CommandAnswer Shown(CommandAnswer answer, const Options& options);

struct CommandRow {
  std::string_view name;
  std::string_view operands;  // as --help shows them: "MODEL"
  size_t least_operands;
  size_t most_operands;
  std::string_view summary;
  std::string_view examples;  // lines "arguments|what it is for"
  CommandSet bit;
  std::string_view files;               // extensions of the files that its operands are: "onnx json", or ""
  std::vector<std::string> (*words)();  // what else they can be, for completions; or nullptr
  absl::StatusOr<CommandAnswer> (*run)(const Options& options);
};

absl::Span<const CommandRow> CommandRows();

// nullptr when there is no such command.
const CommandRow* CommandNamed(std::string_view name);

absl::StatusOr<CommandAnswer> RunAnalyze(const Options& options);
absl::StatusOr<CommandAnswer> RunCompare(const Options& options);
absl::StatusOr<CommandAnswer> RunFit(const Options& options);
absl::StatusOr<CommandAnswer> RunCheck(const Options& options);
absl::StatusOr<CommandAnswer> RunPlan(const Options& options);
absl::StatusOr<CommandAnswer> RunExplain(const Options& options);
absl::StatusOr<CommandAnswer> RunGpus(const Options& options);
absl::StatusOr<CommandAnswer> RunCompletion(const Options& options);
absl::StatusOr<CommandAnswer> RunMan(const Options& options);

// The shells that RunCompletion has a script for.
std::vector<std::string> CompletedShells();

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_COMMANDS_H_
