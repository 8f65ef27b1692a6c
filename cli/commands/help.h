// The texts of -h, --help, --version, --help-exit-codes and of the manual page, made from the tables of options and
// commands.
#ifndef ONNX_MEM_CLI_COMMANDS_HELP_H_
#define ONNX_MEM_CLI_COMMANDS_HELP_H_

#include <string>
#include <string_view>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"

namespace onnx_mem {

inline constexpr std::string_view kPurpose = "Predict the memory an ONNX model needs, before you run it.";
inline constexpr std::string_view kVersion = ONNX_MEM_VERSION;

// What the program is for, by example; at most 24 lines.
std::string ShortHelp();

// Usage and every option of `command`.
std::string LongHelp(const CommandRow& command);

// Commands and options, all of them, for who makes something from them: scripts/reference.
std::string HelpJson();

// "onnx-mem compare A B [C...] [options]".
std::string Usage(const CommandRow& command);

struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};
absl::Span<const ExitCodeRow> ExitCodeRows();

std::string VersionText();
std::string ExitCodesHelp();

// The manual page in roff, with the man macros.
std::string ManPage();

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_HELP_H_
