// The texts of -h, --help, --version and --help-exit-codes, made from the tables of options and commands.
#ifndef ONNX_MEM_CLI_COMMANDS_HELP_H_
#define ONNX_MEM_CLI_COMMANDS_HELP_H_

#include <string>
#include <string_view>

#include "cli/commands/commands.h"

namespace onnx_mem {

inline constexpr std::string_view kVersion = ONNX_MEM_VERSION;

// What the program is for, by example; at most 24 lines.
std::string ShortHelp();

// Usage and every option of `command`.
std::string LongHelp(const CommandRow& command);

std::string VersionText();
std::string ExitCodesHelp();

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_HELP_H_
