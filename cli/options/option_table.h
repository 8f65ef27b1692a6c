// Every option of the program as one row: how it is written, which commands take it, what it sets. Parsing, --help
// and shell completions are made from these rows, so a new option is a row here and nothing else.
#ifndef ONNX_MEM_CLI_OPTIONS_OPTION_TABLE_H_
#define ONNX_MEM_CLI_OPTIONS_OPTION_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/options/options.h"

namespace onnx_mem {

enum class OptionGroup : uint8_t { kWorkload, kPlan, kFramework, kDevice, kOutput, kGeneral };

// Sets of commands, one bit each; a command's bit is in its row of commands/commands.cc.
using CommandSet = uint32_t;
inline constexpr CommandSet kAnalyzeCommand = 1;
inline constexpr CommandSet kCheckCommand = 2;
inline constexpr CommandSet kGpusCommand = 4;
inline constexpr CommandSet kCompletionCommand = 8;
inline constexpr CommandSet kPlanCommand = 16;
inline constexpr CommandSet kCompareCommand = 32;
inline constexpr CommandSet kFitCommand = 64;
inline constexpr CommandSet kManCommand = 128;
inline constexpr CommandSet kEveryCommand = ~CommandSet{0};

struct OptionRow {
  std::string_view short_name;  // "-b", or ""
  std::string_view long_name;   // "--batch"
  std::string_view value;       // what --help shows for its value, "" for a flag; words between bars are choices,
                                // those in capitals stand for anything: "auto|none|REGEX"
  OptionGroup group;
  CommandSet commands;
  std::string_view help;
  absl::Status (*apply)(std::string_view value, Options& options);
  bool repeatable = false;                        // else the last one given counts
  std::vector<std::string> (*names)() = nullptr;  // of another table's rows, the choices in place of `value`
  std::vector<std::string> (*words)() = nullptr;  // that people mean, of all that it takes; for completions
};

absl::Span<const OptionRow> OptionRows();

// The heading of `group` in --help.
std::string_view TitleOf(OptionGroup group);

// The words that `row` takes as its value; empty when it takes anything else.
std::vector<std::string> ChoicesOf(const OptionRow& row);

// What a shell offers for its value: ChoicesOf, else the row's words.
std::vector<std::string> OfferedFor(const OptionRow& row);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_OPTION_TABLE_H_
