#include "cli/commands/help.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/options/option_table.h"
#include "report/parts/layout.h"

namespace onnx_mem {
namespace {

constexpr size_t kHelpWidth = 80;  // of a terminal as it opens
constexpr size_t kLabelWidth = 34;

// "  -b, --batch N[,N...]"
std::string Label(const OptionRow& row) {
  std::string label = row.short_name.empty() ? "      " : absl::StrFormat("  %s", row.short_name);
  if (!row.short_name.empty() && !row.long_name.empty()) label += ", ";
  label += row.long_name;
  if (!row.value.empty()) absl::StrAppendFormat(&label, " %s", row.value);
  return label;
}

// Label and text in two columns; a long label takes a line of its own.
std::string Entry(const std::string& label, std::string_view text) {
  const std::string indent(kLabelWidth, ' ');
  const bool beside = DisplayWidth(label) + 2 <= kLabelWidth;
  const std::string lines = Wrapped(text, kHelpWidth - kLabelWidth, 0, 0);
  std::string entry = beside ? PadRight(label, kLabelWidth) : label + "\n" + indent;
  for (char byte : lines) {
    entry += byte;
    if (byte == '\n') entry += indent;
  }
  return entry + "\n";
}

std::string Examples(std::string_view lines) {
  std::string text;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string_view line = lines.substr(begin, end - begin);
    const size_t bar = std::min(line.find('|'), line.size());
    const std::string command = "  onnx-mem " + std::string(line.substr(0, bar));
    const std::string_view what = bar < line.size() ? line.substr(bar + 1) : std::string_view();
    text += what.empty() ? command : PadRight(command, 55) + std::string(what);
    text += '\n';
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string Usage(const CommandRow& command) {
  const std::string name = command.bit == kAnalyzeCommand ? "" : std::string(command.name) + " ";
  return absl::StrFormat("onnx-mem %s%s%s[options]", name, command.operands, command.operands.empty() ? "" : " ");
}

std::string ShortHelp() {
  std::string others;
  for (const CommandRow& row : CommandRows()) {
    if (row.bit == kAnalyzeCommand) continue;
    absl::StrAppendFormat(&others, "%s%s", others.empty() ? "" : "|", row.name);
  }
  const bool several = others.find('|') != std::string::npos;
  std::string text = absl::StrFormat("%s\n\nUsage: onnx-mem MODEL [options]\n       onnx-mem %s%s%s ...\n\nExamples:\n",
                                     kPurpose, several ? "{" : "", others, several ? "}" : "");
  for (const CommandRow& row : CommandRows()) text += Examples(row.examples);
  return text +
         "\nFrom Python, with all that an export loses (pip install . in a checkout):\n"
         "  onnx_mem.export(model, (x,), \"m.onnx\")\n\n"
         "All options: onnx-mem --help\n";
}

std::string LongHelp(const CommandRow& command) {
  const bool is_default = command.bit == kAnalyzeCommand;
  std::string text = is_default
                         ? std::string(kPurpose)
                         : Wrapped(absl::StrFormat("onnx-mem %s: %s", command.name, command.summary), kHelpWidth, 0, 2);
  absl::StrAppendFormat(&text, "\n\nUsage: %s\n", Usage(command));
  if (is_default) {
    text += "\nCommands:\n";
    for (const CommandRow& row : CommandRows()) {
      text += Entry(absl::StrFormat("  %s %s", row.name, row.operands), row.summary);
    }
  }
  OptionGroup group{};
  bool first = true;
  for (const OptionRow& row : OptionRows()) {
    if ((row.commands & command.bit) == 0) continue;
    if (first || row.group != group) text += absl::StrFormat("\n%s:\n", TitleOf(row.group));
    first = false;
    group = row.group;
    text += Entry(Label(row), row.help);
  }
  if (!command.examples.empty()) absl::StrAppendFormat(&text, "\nExamples:\n%s", Examples(command.examples));
  return text;
}

std::string VersionText() {
  return absl::StrFormat("onnx-mem %s\nonnx %s, protobuf %s, %s %s\n", kVersion, ONNX_MEM_ONNX_VERSION,
                         ONNX_MEM_PROTOBUF_VERSION, ONNX_MEM_COMPILER, ONNX_MEM_COMPILER_VERSION);
}

absl::Span<const ExitCodeRow> ExitCodeRows() {
  static constexpr auto kRows = std::to_array<ExitCodeRow>({
      {ExitCode::kYes, "done; the answer is yes, or there was no question"},
      {ExitCode::kNo, "done; the answer is no: over budget, does not fit, regression, infeasible"},
      {ExitCode::kCannot, "could not do it: usage, file, model; the [code] in the message tells which"},
      {ExitCode::kBug, "a bug of onnx-mem"},
  });
  return kRows;
}

std::string ExitCodesHelp() {
  std::string text;
  for (const ExitCodeRow& row : ExitCodeRows()) {
    absl::StrAppendFormat(&text, "%3d  %s\n", static_cast<int>(row.code), row.meaning);
  }
  return text;
}

}  // namespace onnx_mem
