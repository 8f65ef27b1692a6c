#include "cli/pasted_command.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "analyzer/graph/suggest.h"
#include "cli/commands/commands.h"
#include "cli/options/option_table.h"

namespace onnx_mem {
namespace {

// An option of a command line with its value: words [begin, end) of it.
struct WrittenOption {
  const OptionRow* row = nullptr;  // nullptr: a word that is no option
  std::string value;
  size_t begin = 0, end = 0;
};

// The option that begins at word `at`: "--batch 32", "--batch=32", "-b32".
WrittenOption OptionAt(const std::vector<std::string>& words, size_t at) {
  WrittenOption written{nullptr, "", at, at + 1};
  const std::string& word = words[at];
  if (word.size() < 2 || word[0] != '-') return written;
  const size_t name = word[1] == '-' ? std::min(word.find('='), word.size()) : 2;
  written.row = OptionNamed(word.substr(0, name));
  if (written.row == nullptr || written.row->value.empty()) return written;
  if (name < word.size()) {
    written.value = word.substr(name + (word[name] == '=' ? 1 : 0));
  } else if (at + 1 < words.size()) {
    written.value = words[at + 1];
    ++written.end;
  }
  return written;
}

std::vector<WrittenOption> OptionsIn(const std::vector<std::string>& words) {
  std::vector<WrittenOption> options;
  for (size_t at = 0; at < words.size() && words[at] != "--"; at = options.back().end) {
    options.push_back(OptionAt(words, at));
  }
  return options;
}

std::string KeyOf(const WrittenOption& option) { return option.value.substr(0, option.value.find('=')); }

// Whether `given` is not to stand beside `proposed`.
bool Yields(const WrittenOption& given, const WrittenOption& proposed, std::string_view message) {
  if (given.row == nullptr || proposed.row == nullptr) return false;
  if (given.row != proposed.row) return given.row->long_name == "--gpu" && proposed.row->long_name == "--gpu-memory";
  if (!given.row->setter.repeatable || message.starts_with(std::string(given.row->long_name) + ":")) return true;
  const bool of_a_name = given.row->kind() == "dim" || given.row->kind() == "shape";
  return of_a_name && KeyOf(given) == KeyOf(proposed);
}

// `words` with a space before them; "" for none.
std::string Behind(std::string_view words) { return words.empty() ? "" : std::string(" ").append(words); }

// Whether the user's command takes all that is proposed.
bool TakesAll(std::string_view command, const std::vector<WrittenOption>& proposed) {
  const CommandSet bit = CommandNamed(command)->bit;
  return std::all_of(proposed.begin(), proposed.end(), [&](const WrittenOption& option) {
    return option.row == nullptr || (option.row->commands & bit) != 0;
  });
}

enum class Of : uint8_t { kMore, kLess };  // options that are proposed, or left out

// The user's command line with `more` behind it or without it, but before a "--" that ends all options; an analysis
// where the command does not take what is proposed, which then wants `open_sizes` too.
std::string CommandLine(const Options& options, std::string_view more, Of of, std::string_view open_sizes,
                        std::string_view message) {
  std::vector<std::string> arguments = options.arguments;
  const std::vector<std::string> words = absl::StrSplit(std::string(more), ' ', absl::SkipEmpty());
  const std::vector<WrittenOption> proposed = OptionsIn(words);
  const bool same_command = TakesAll(options.command, proposed);
  if (!same_command) {
    const auto command = std::find(arguments.begin(), arguments.end(), options.command);
    if (command != arguments.end()) arguments.erase(command);
  }
  std::string line = "onnx-mem";
  size_t end = 0;
  for (const WrittenOption& given : OptionsIn(arguments)) {
    end = given.end;
    const bool yields = std::any_of(proposed.begin(), proposed.end(),
                                    [&](const WrittenOption& option) { return Yields(given, option, message); });
    for (size_t i = given.begin; i < given.end && !yields; ++i) line += " " + ShellWord(arguments[i]);
  }
  if (of == Of::kMore) line.append(" ").append(more);
  if (!same_command) line.append(Behind(open_sizes));
  for (; end < arguments.size(); ++end) line += " " + ShellWord(arguments[end]);
  return line;
}

bool IsLimit(const OptionRow& row) {
  return row.long_name == "--gpu" || row.long_name == "--gpu-memory" || row.long_name == "--budget";
}

// Whether `given` is to stand in the line of another command, which takes `proposed` already.
bool Stays(const WrittenOption& given, CommandSet command, const std::vector<WrittenOption>& proposed) {
  if (given.row == nullptr) return true;
  if ((given.row->commands & command) == 0 || given.row->group == OptionGroup::kOutput) return false;
  return std::none_of(proposed.begin(), proposed.end(), [&](const WrittenOption& other) {
    return other.row == given.row || (other.row != nullptr && IsLimit(*other.row) && IsLimit(*given.row));
  });
}

// The sizes that the user gave the model's dimensions, without which it may have none.
std::string SizesIn(const std::vector<std::string>& arguments) {
  std::string sizes;
  for (const WrittenOption& given : OptionsIn(arguments)) {
    if (given.row == nullptr || (given.row->kind() != "dim" && given.row->kind() != "shape")) continue;
    for (size_t i = given.begin; i < given.end; ++i) sizes += " " + ShellWord(arguments[i]);
  }
  return sizes;
}

}  // namespace

Diagnostic WithCommands(Diagnostic diagnostic, const Options& options, std::string_view open_sizes) {
  const std::string model = options.operands.empty() ? "" : options.operands.front();
  constexpr std::string_view kMore = "try: ... ", kLess = "try: without ", kCommand = "try: onnx-mem ",
                             kRemark = "   # ", kModel = " MODEL";
  for (std::string& line : diagnostic.details) {
    if (line.starts_with(kMore)) {
      const size_t remark = std::min(line.find(kRemark), line.size());
      const std::string_view more = std::string_view(line).substr(kMore.size(), remark - kMore.size());
      line = "try: " + CommandLine(options, more, Of::kMore, open_sizes, diagnostic.message) + line.substr(remark);
    } else if (line.starts_with(kLess)) {
      const std::string_view less = std::string_view(line).substr(kLess.size());
      line = "try: " + CommandLine(options, less, Of::kLess, open_sizes, diagnostic.message);
    } else if (line.starts_with(kCommand) && !model.empty()) {
      const size_t at = line.find(kModel);
      const size_t end = at + kModel.size();
      const bool whole_word = at != std::string::npos && (end == line.size() || line[end] == ' ');
      const std::string sizes = SizesIn(options.arguments) + Behind(open_sizes);
      if (whole_word) line.replace(at + 1, kModel.size() - 1, ShellWord(model) + sizes);
    }
  }
  return diagnostic;
}

std::string CommandOf(std::string_view command, const Options& options, std::string_view more) {
  std::vector<std::string> arguments = options.arguments;
  if (arguments.empty()) return "";
  const auto own = std::find(arguments.begin(), arguments.end(), options.command);
  if (own != arguments.end()) arguments.erase(own);
  const std::vector<WrittenOption> proposed = OptionsIn(absl::StrSplit(std::string(more), ' ', absl::SkipEmpty()));
  std::string line = "onnx-mem " + std::string(command);
  size_t end = 0;
  for (const WrittenOption& given : OptionsIn(arguments)) {
    end = given.end;
    if (!Stays(given, CommandNamed(command)->bit, proposed)) continue;
    for (size_t i = given.begin; i < given.end; ++i) line += " " + ShellWord(arguments[i]);
  }
  line.append(Behind(more));
  for (; end < arguments.size(); ++end) line += " " + ShellWord(arguments[end]);
  return line;
}

}  // namespace onnx_mem
