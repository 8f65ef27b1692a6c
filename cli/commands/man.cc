// onnx-mem man: the manual page, from the tables of commands and options, which the installation puts beside the
// others.
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands/commands.h"
#include "cli/commands/help.h"
#include "cli/options/option_table.h"

namespace onnx_mem {
namespace {

// Text as roff takes it: a hyphen that is copied stays one, and no line begins as a request does.
std::string Roff(std::string_view text) {
  std::string escaped;
  for (char byte : text) {
    const bool request = (byte == '.' || byte == '\'') && (escaped.empty() || escaped.back() == '\n');
    if (request) escaped += "\\&";
    if (byte == '-') {
      escaped += "\\-";
    } else if (byte == '\\') {
      escaped += "\\e";
    } else if (byte == '\'') {
      escaped += "\\(aq";
    } else if (byte == '^') {
      escaped += "\\(ha";
    } else if (byte == '~') {
      escaped += "\\(ti";
    } else {
      escaped += byte;
    }
  }
  return escaped;
}

// A paragraph with a tag: the tag, then what it means.
std::string Tagged(std::string_view tag, std::string_view text) {
  return absl::StrFormat(".TP\n%s\n%s\n", tag, Roff(text));
}

// "\\fB\\-b\\fR, \\fB\\-\\-batch\\fR \\fIN[,N...]\\fR".
std::string TagOf(const OptionRow& row) {
  std::string tag;
  for (std::string_view name : {row.short_name, row.long_name}) {
    if (name.empty()) continue;
    absl::StrAppendFormat(&tag, "%s\\fB%s\\fR", tag.empty() ? "" : ", ", Roff(name));
  }
  if (!row.value.empty()) absl::StrAppendFormat(&tag, " \\fI%s\\fR", Roff(row.value));
  return tag;
}

// "Of analyze, plan and fit."; nothing of what every command takes.
std::string CommandsOf(const OptionRow& row) {
  if (row.commands == kEveryCommand) return "";
  std::vector<std::string> names;
  for (const CommandRow& command : CommandRows()) {
    if ((row.commands & command.bit) != 0) names.emplace_back(command.name);
  }
  return absl::StrFormat(" Of %s.", absl::StrJoin(names, ", "));
}

std::string OptionsSection() {
  std::string text = ".SH OPTIONS\n";
  OptionGroup group{};
  bool first = true;
  for (const OptionRow& row : OptionRows()) {
    if (first || row.group != group) absl::StrAppendFormat(&text, ".SS %s\n", Roff(TitleOf(row.group)));
    first = false;
    group = row.group;
    text += Tagged(TagOf(row), absl::StrFormat("%s.%s", row.help, CommandsOf(row)));
  }
  return text;
}

std::string ExamplesSection() {
  std::string text = ".SH EXAMPLES\n";
  for (const CommandRow& row : CommandRows()) {
    const std::vector<std::string> lines = absl::StrSplit(std::string(row.examples), '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits('|', 1));
      text += Tagged(absl::StrFormat("\\fBonnx\\-mem %s\\fR", Roff(parts.first)), parts.second);
    }
  }
  return text;
}

}  // namespace

std::string ManPage() {
  std::string text =
      absl::StrFormat(".TH ONNX\\-MEM 1 \"\" \"onnx\\-mem %s\" \"User Commands\"\n.SH NAME\nonnx\\-mem \\- %s\n",
                      kVersion, "predict the memory that an ONNX model needs");
  text += ".SH SYNOPSIS\n";
  for (const CommandRow& row : CommandRows()) absl::StrAppendFormat(&text, ".B %s\n.br\n", Roff(Usage(row)));
  absl::StrAppendFormat(&text, ".SH DESCRIPTION\n%s\n", Roff(kPurpose));
  text += ".SH COMMANDS\n";
  for (const CommandRow& row : CommandRows()) {
    text += Tagged(absl::StrFormat("\\fB%s\\fR \\fI%s\\fR", Roff(row.name), Roff(row.operands)),
                   absl::StrFormat("%s.", row.summary));
  }
  text += OptionsSection();
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : ExitCodeRows()) {
    text += Tagged(absl::StrFormat("%d", static_cast<int>(row.code)), absl::StrFormat("%s.", row.meaning));
  }
  text += ".SH ENVIRONMENT\n";
  text += Tagged("\\fBONNX_MEM_GPUS\\fR", "A CSV file of your own cards, with the columns name and memory_mib.");
  text += Tagged("\\fBNO_COLOR\\fR", "No colours, where the option --color does not tell otherwise.");
  return text + ExamplesSection();
}

absl::StatusOr<CommandAnswer> RunMan(const Options&) { return CommandAnswer{ManPage()}; }

}  // namespace onnx_mem
