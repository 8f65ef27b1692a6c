#include "cli/options/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "cli/commands/commands.h"
#include "cli/options/option_table.h"
#include "cli/options/option_values.h"

namespace onnx_mem {
namespace {

const OptionRow* RowOfWord(std::string_view word) { return OptionNamed(word.substr(0, word.find('='))); }

// Index of the word that names a command: the first that is neither an option nor an option's value.
size_t IndexOfCommand(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.empty() || word[0] != '-') return CommandNamed(word) ? i : arguments.size();
    const OptionRow* row = RowOfWord(word);
    if (row && !row->value.empty() && word.find('=') == std::string::npos) ++i;
  }
  return arguments.size();
}

// The words of a command line by option, as written; nothing is interpreted yet.
struct Words {
  std::vector<std::pair<const OptionRow*, std::vector<std::string>>> values;
  std::vector<std::string> operands;
  std::vector<std::string> unknown;
};

absl::StatusOr<Words> Tokenize(std::vector<std::string> arguments, const CommandRow& command) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const OptionRow*, CLI::Option*>> options;
  for (const OptionRow& row : OptionRows()) {
    if ((row.commands & command.bit) == 0) continue;
    std::string names(row.short_name);
    if (!row.short_name.empty() && !row.long_name.empty()) names += ',';
    names += row.long_name;
    CLI::Option* option = row.value.empty() ? app.add_flag(names) : app.add_option(names);
    if (!row.value.empty()) option->expected(1)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    options.emplace_back(&row, option);
  }
  Words words;
  app.add_option("operands", words.operands);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string name = error.what();
    return UsageError(absl::StrFormat("%s needs a value", name.substr(0, name.find(':'))));
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what());
  }
  for (const auto& [row, option] : options) {
    if (option->count() > 0) words.values.emplace_back(row, option->results());
  }
  words.unknown = app.remaining();
  return words;
}

absl::Status UnknownOption(std::string_view word, const CommandRow& command) {
  if (word.find('=') > 1) word = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const OptionRow& row : OptionRows()) {
    if ((row.commands & command.bit) == 0) continue;
    if (!row.long_name.empty()) known.emplace_back(row.long_name);
  }
  if (const OptionRow* row = RowOfWord(word)) {
    return UsageError(absl::StrFormat("option '%s' is not one of '%s'", DisplayName(*row), command.name),
                      {absl::StrFormat("try: onnx-mem %s --help", command.name)});
  }
  const std::string name = word.size() > 2 && word[1] != '-' ? absl::StrFormat("-%s", word) : std::string(word);
  const std::string hint = DidYouMean(name, known);
  return UsageError(absl::StrFormat("unknown option '%s'", word),
                    {hint.empty() ? "try: onnx-mem --help" : hint + "      (onnx-mem --help)"});
}

// "-batch 8" for "--batch 8", which would be read as -b with the value "atch".
absl::Status CheckDashes(const std::vector<std::string>& arguments, const CommandRow& command) {
  for (const std::string& word : arguments) {
    if (word.size() > 2 && word[0] == '-' && word[1] != '-' && RowOfWord("-" + word))
      return UnknownOption(word, command);
  }
  return absl::OkStatus();
}

absl::Status CheckOperands(const std::vector<std::string>& operands, const CommandRow& command) {
  if (operands.size() < command.least_operands) {
    const std::string name = command.bit == kAnalyzeCommand ? "" : absl::StrFormat("%s ", command.name);
    return UsageError(absl::StrFormat("no %s given", command.operands),
                      {absl::StrFormat("way out: onnx-mem %s%s", name, command.operands)});
  }
  // A command that is misspelt reads like a model; a model has a dot in its name or a folder.
  if (operands.size() > 1 && command.bit == kAnalyzeCommand &&
      operands.front().find_first_of("./") == std::string::npos) {
    std::vector<std::string> names;
    for (const CommandRow& row : CommandRows()) names.emplace_back(row.name);
    const std::string hint = DidYouMean(operands.front(), names);
    if (!hint.empty()) return UsageError(absl::StrFormat("unknown command '%s'", operands.front()), {hint});
  }
  if (operands.size() <= command.most_operands) return absl::OkStatus();
  return UsageError(absl::StrFormat("unexpected argument '%s'", operands[command.most_operands]));
}

absl::Status Apply(const Words& words, Options& options) {
  absl::Status first;
  for (const auto& [row, values] : words.values) {
    for (const std::string& value : values) {
      // All are applied even after an error, so that it can be reported in the format that was requested.
      const bool lacks_value = value.empty() && !row->value.empty();  // --freeze "$UNSET", which would match everything
      const absl::Status status = lacks_value ? UsageError(absl::StrFormat("%s needs a value", DisplayName(*row)))
                                              : WithName(row->Apply(value, options), *row);
      if (first.ok()) first = status;
    }
  }
  return first;
}

// The words behind "--", which are operands whatever they look like; they are taken out of `arguments`.
std::vector<std::string> TakeOperandsBehindDashes(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return {};
  std::vector<std::string> operands(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return operands;
}

// A command line that cannot even be split into words still says in which format to answer.
void FindFormat(const std::vector<std::string>& arguments, Options& options) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool apart = (arguments[i] == "--format" || arguments[i] == "-f") && i + 1 < arguments.size();
    const std::string lower = absl::AsciiStrToLower(arguments[i]);
    if (lower == "--format=json" || lower == "-fjson" || (apart && SameWord(arguments[i + 1], "json"))) {
      options.format = "json";
    }
  }
}

absl::Status Parse(std::vector<std::string> arguments, Options& options) {
  const std::vector<std::string> behind_dashes = TakeOperandsBehindDashes(arguments);
  if (const size_t at = IndexOfCommand(arguments); at < arguments.size()) {
    options.command = arguments[at];
    arguments.erase(arguments.begin() + static_cast<ptrdiff_t>(at));
  }
  const CommandRow& command = *CommandNamed(options.command);
  RETURN_IF_ERROR(CheckDashes(arguments, command));
  FindFormat(arguments, options);
  ASSIGN_OR_RETURN(Words words, Tokenize(std::move(arguments), command));
  options.operands = std::move(words.operands);
  options.operands.insert(options.operands.end(), behind_dashes.begin(), behind_dashes.end());
  const absl::Status applied = Apply(words, options);
  if (!words.unknown.empty()) return UnknownOption(words.unknown.front(), command);
  if (options.short_help || options.long_help || options.version || options.exit_codes_help) return absl::OkStatus();
  RETURN_IF_ERROR(applied);
  RETURN_IF_ERROR(CheckOperands(options.operands, command));
  SettleRuntime(options);
  return CheckTogether(options);
}

}  // namespace

ParsedOptions ParseOptions(const std::vector<std::string>& arguments) {
  ParsedOptions parsed;
  parsed.options.arguments = arguments;
  parsed.status = Parse(arguments, parsed.options);
  return parsed;
}

}  // namespace onnx_mem
