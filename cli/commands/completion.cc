// onnx-mem completion SHELL: a script that completes commands, options and their choices, made from the tables, so
// that it never falls behind them.
//
//   source <(onnx-mem completion bash)
#include <array>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/suggest.h"
#include "cli/commands/commands.h"
#include "cli/options/option_table.h"
#include "cli/options/option_values.h"

namespace onnx_mem {
namespace {

bool TakesFile(const OptionRow& row) { return row.value.find("FILE") != std::string_view::npos; }

std::string NamesOf(const OptionRow& row, std::string_view separator) {
  std::string names(row.short_name);
  if (!row.short_name.empty() && !row.long_name.empty()) names += separator;
  return names.append(row.long_name);
}

std::string CommandNames() {
  return absl::StrJoin(CommandRows(), " ", [](std::string* text, const CommandRow& row) { text->append(row.name); });
}

// Text inside single quotes of any of the shells.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (char byte : text) {
    if (byte == '\'') {
      quoted += "'\\''";
    } else {
      quoted += byte;
    }
  }
  return quoted;
}

std::string Bash() {
  std::string text =
      "_onnx_mem() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  case \"$previous\" in\n";
  std::string names;
  for (const OptionRow& row : OptionRows()) {
    absl::StrAppendFormat(&names, "%s%s", names.empty() ? "" : " ", NamesOf(row, " "));
    if (row.value.empty()) continue;
    const std::string words = absl::StrJoin(ChoicesOf(row), " ");
    const std::string action = TakesFile(row)  ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                               : words.empty() ? "COMPREPLY=()"
                                               : absl::StrFormat("COMPREPLY=($(compgen -W '%s' -- \"$word\"))", words);
    absl::StrAppendFormat(&text, "    %s) %s; return;;\n", NamesOf(row, "|"), action);
  }
  absl::StrAppendFormat(&text,
                        "    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\")); return;;\n"
                        "  esac\n"
                        "  if [[ $word == -* ]]; then\n"
                        "    COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n"
                        "  else\n"
                        "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
                        "    if (( COMP_CWORD == 1 )); then COMPREPLY+=($(compgen -W '%s' -- \"$word\")); fi\n"
                        "  fi\n"
                        "}\n"
                        "complete -o filenames -F _onnx_mem onnx-mem\n",
                        names, CommandNames());
  return text;
}

// A description inside an _arguments specification, where brackets and colons have a meaning.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (char byte : text) {
    if (byte == '[' || byte == ']' || byte == ':' || byte == '\\') escaped += '\\';
    escaped += byte;
  }
  return Quoted(escaped);
}

std::string Zsh() {
  std::string text = "#compdef onnx-mem\n_onnx_mem() {\n  _arguments -s -S \\\n";
  for (const OptionRow& row : OptionRows()) {
    std::string value;
    if (!row.value.empty()) {
      const std::string action =
          TakesFile(row) ? "_files" : absl::StrFormat("(%s)", absl::StrJoin(ChoicesOf(row), " "));
      value = absl::StrFormat(":%s:%s", ZshText(row.value), action == "()" ? " " : action);
    }
    for (std::string_view name : {row.short_name, row.long_name}) {
      if (name.empty()) continue;
      absl::StrAppendFormat(&text, "    '%s%s[%s]%s' \\\n", row.repeatable ? "*" : "", name, ZshText(row.help), value);
    }
  }
  absl::StrAppendFormat(
      &text,
      "    '1:model or command:{_alternative \"commands:command:(%s)\" \"files:model:_files\"}' \\\n"
      "    '*:file:_files'\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _onnx_mem ]; then _onnx_mem \"$@\"; else compdef _onnx_mem onnx-mem; fi\n",
      CommandNames());
  return text;
}

std::string Fish() {
  std::string text;
  for (const CommandRow& row : CommandRows()) {
    absl::StrAppendFormat(&text, "complete -c onnx-mem -n __fish_use_subcommand -a %s -d '%s'\n", row.name,
                          Quoted(row.summary));
  }
  for (const OptionRow& row : OptionRows()) {
    text += "complete -c onnx-mem";
    if (!row.short_name.empty()) absl::StrAppendFormat(&text, " -s %s", row.short_name.substr(1));
    if (!row.long_name.empty()) absl::StrAppendFormat(&text, " -l %s", row.long_name.substr(2));
    if (!row.value.empty()) text += TakesFile(row) ? " -r -F" : " -x";
    if (const auto choices = ChoicesOf(row); !choices.empty()) {
      absl::StrAppendFormat(&text, " -a '%s'", absl::StrJoin(choices, " "));
    }
    absl::StrAppendFormat(&text, " -d '%s'\n", Quoted(row.help));
  }
  return text + "complete -c onnx-mem -n '__fish_seen_subcommand_from completion' -x -a 'bash zsh fish'\n";
}

struct ShellRow {
  std::string_view name;
  std::string (*script)();
};
constexpr auto kShells = std::to_array<ShellRow>({{"bash", Bash}, {"zsh", Zsh}, {"fish", Fish}});

}  // namespace

absl::StatusOr<Answer> RunCompletion(const Options& options) {
  std::vector<std::string> names;
  for (const ShellRow& shell : kShells) {
    if (SameWord(shell.name, options.operands.front())) return Answer{shell.script(), {}, ExitCode::kYes};
    names.emplace_back(shell.name);
  }
  return UnknownChoice(options.operands.front(), names);
}

}  // namespace onnx_mem
