// Every option of the program as one row of include/onnx_mem/question.inc: how it is written, which commands take it,
// what it sets. Parsing, --help, the manual page, completions and the library's questions are loops over these rows.
#ifndef ONNX_MEM_CLI_OPTIONS_OPTION_TABLE_H_
#define ONNX_MEM_CLI_OPTIONS_OPTION_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/options/option_setters.h"
#include "cli/options/options.h"

namespace onnx_mem {

enum class OptionGroup : uint8_t { kWorkload, kPlan, kFramework, kParallel, kDevice, kOutput, kGeneral };

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
inline constexpr CommandSet kExplainCommand = 256;
inline constexpr CommandSet kEveryCommand = ~CommandSet{0};

// Those that enact models: they take every option that describes the workload or the form of a report.
inline constexpr CommandSet kRuns = kAnalyzeCommand | kCompareCommand | kFitCommand;
inline constexpr CommandSet kSteps = kRuns | kPlanCommand | kExplainCommand;  // and those of its training step

// The member of a struct of onnx_mem.h that says the same, as C++ writes it; "" where there is none.
struct LibraryMember {
  std::string_view of, type, name, initial;
};

struct OptionRow {
  std::string_view short_name;  // "-b", or ""
  std::string_view long_name;   // "--batch"
  std::string_view value;       // what --help shows for its value, "" for a flag; words between bars are choices,
                                // those in capitals stand for anything: "auto|none|REGEX"
  OptionGroup group;
  CommandSet commands;
  std::string_view help;
  OptionSetter setter;
  LibraryMember library;

  // Sets what `text` says. Error: usage.
  absl::Status Apply(std::string_view text, Options& options) const;

  // The same for a value that is no text. Error: internal, where the option is of another kind.
  template <class Kind>
  absl::Status Set(Kind it, Options& options) const {
    const SetterOf<Kind>* set = std::get_if<SetterOf<Kind>>(&setter.set);
    if (set == nullptr) return absl::InternalError(absl::StrFormat("%s takes a %s", long_name, kind()));
    return (*set)(std::move(it), options);
  }

  // Its kind of value: "count".
  std::string_view kind() const { return kKindNames[setter.set.index()]; }
};

absl::Span<const OptionRow> OptionRows();

// nullptr where no option has this name: "--batch", "-b".
const OptionRow* OptionNamed(std::string_view name);

// What messages call it.
std::string_view DisplayName(const OptionRow& row);

// `status` of applying a value to `row`, with the option's name in front.
absl::Status WithName(const absl::Status& status, const OptionRow& row);

// The heading of `group` in --help.
std::string_view TitleOf(OptionGroup group);

// The words that `row` takes as its value; empty when it takes anything else.
std::vector<std::string> ChoicesOf(const OptionRow& row);

// What a shell offers for its value: ChoicesOf, else the row's words.
std::vector<std::string> OfferedFor(const OptionRow& row);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_OPTIONS_OPTION_TABLE_H_
