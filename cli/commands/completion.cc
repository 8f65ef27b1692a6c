// onnx-mem completion SHELL: a script that completes commands, models, options and their values, made from the tables,
// so that it never falls behind them.
//
//   source <(onnx-mem completion bash)
#include <array>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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

// Of the options that `command` takes.
std::string OptionNames(const CommandRow& command) {
  std::string names;
  for (const OptionRow& row : OptionRows()) {
    if ((row.commands & command.bit) == 0) continue;
    absl::StrAppendFormat(&names, "%s%s", names.empty() ? "" : " ", NamesOf(row, " "));
  }
  return names;
}

std::string CommandNames() {
  return absl::StrJoin(CommandRows(), " ", [](std::string* text, const CommandRow& row) { text->append(row.name); });
}

std::string WordsFor(const CommandRow& command) {
  return command.words == nullptr ? "" : absl::StrJoin(command.words(), " ");
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

// Files of some extensions, and folders on the way to them; a name may have spaces in it.
constexpr std::string_view kBashFunctions = R"(_onnx_mem_files() {
  local word="$1" extension IFS=$'\n'
  shift
  COMPREPLY=($(compgen -d -- "$word"; for extension in "$@"; do compgen -f -X "!*.$extension" -- "$word"; done))
}
)";

std::string Bash() {
  std::string text(kBashFunctions);
  text +=
      "_onnx_mem() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  case \"$previous\" in\n";
  for (const OptionRow& row : OptionRows()) {
    if (row.value.empty()) continue;
    const std::string words = absl::StrJoin(OfferedFor(row), " ");
    const std::string action = TakesFile(row)  ? "local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\"))"
                               : words.empty() ? "COMPREPLY=()"
                                               : absl::StrFormat("COMPREPLY=($(compgen -W '%s' -- \"$word\"))", words);
    absl::StrAppendFormat(&text, "    %s) %s; return;;\n", NamesOf(row, "|"), action);
  }
  text += "  esac\n  local options words files\n  case \"${COMP_WORDS[1]}\" in\n";
  const CommandRow& by_default = CommandRows().front();
  for (const CommandRow& row : CommandRows()) {
    if (row.bit == by_default.bit) continue;
    absl::StrAppendFormat(&text, "    %s) options='%s' words='%s' files='%s';;\n", row.name, OptionNames(row),
                          WordsFor(row), row.files);
  }
  absl::StrAppendFormat(&text,
                        "    *) options='%s' words='' files='%s';;\n"
                        "  esac\n"
                        "  if [[ $word == -* ]]; then\n"
                        "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                        "  elif (( COMP_CWORD == 1 )); then\n"
                        "    _onnx_mem_files \"$word\" %s\n"
                        "    COMPREPLY+=($(compgen -W '%s' -- \"$word\"))\n"
                        "  elif [[ -n $words ]]; then\n"
                        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                        "  else\n"
                        "    _onnx_mem_files \"$word\" $files\n"
                        "  fi\n"
                        "}\n"
                        "complete -o filenames -F _onnx_mem onnx-mem\n",
                        OptionNames(by_default), by_default.files, by_default.files, CommandNames());
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

// Words that zsh and fish would read as patterns and commands: "TITAN-X-\\(Pascal\\)".
std::string Literal(std::string words) { return absl::StrReplaceAll(words, {{"(", "\\("}, {")", "\\)"}}); }

// "_files -g '*.(onnx|json)'"; one name in parentheses would be read as qualifiers of the pattern.
std::string ZshFiles(std::string_view files) {
  const std::string names = absl::StrReplaceAll(std::string(files), {{" ", "|"}});
  const bool one = names == files;
  return absl::StrFormat("_files -g \"*.%s%s%s\"", one ? "" : "(", names, one ? "" : ")");
}

std::string Zsh() {
  std::string text = "#compdef onnx-mem\n_onnx_mem_operand() {\n  case \"$words[2]\" in\n";
  for (const CommandRow& row : CommandRows()) {
    if (row.words != nullptr)
      absl::StrAppendFormat(&text, "    %s) compadd -- %s;;\n", row.name, Literal(WordsFor(row)));
    if (!row.files.empty()) absl::StrAppendFormat(&text, "    %s) %s;;\n", row.name, ZshFiles(row.files));
  }
  absl::StrAppendFormat(&text, "    *) %s;;\n  esac\n}\n_onnx_mem() {\n  _arguments -s -S \\\n",
                        ZshFiles(CommandRows().front().files));
  for (const OptionRow& row : OptionRows()) {
    std::string value;
    if (!row.value.empty()) {
      const std::string action =
          TakesFile(row) ? "_files" : absl::StrFormat("(%s)", Literal(absl::StrJoin(OfferedFor(row), " ")));
      value = absl::StrFormat(":%s:%s", ZshText(row.value), action == "()" ? " " : action);
    }
    for (std::string_view name : {row.short_name, row.long_name}) {
      if (name.empty()) continue;
      absl::StrAppendFormat(&text, "    '%s%s[%s]%s' \\\n", row.setter.repeatable ? "*" : "", name, ZshText(row.help),
                            value);
    }
  }
  absl::StrAppendFormat(
      &text,
      "    '1:model or command:{_alternative \"commands:command:(%s)\" \"files:model:_onnx_mem_operand\"}' \\\n"
      "    '*:operand:_onnx_mem_operand'\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _onnx_mem ]; then _onnx_mem \"$@\"; else compdef _onnx_mem onnx-mem; fi\n",
      CommandNames());
  return text;
}

// "(__fish_complete_suffix .onnx; __fish_complete_suffix .json)".
std::string FishFiles(std::string_view files) {
  return absl::StrFormat("(__fish_complete_suffix .%s)",
                         absl::StrReplaceAll(std::string(files), {{" ", "; __fish_complete_suffix ."}}));
}

std::string Fish() {
  std::string text;
  for (const CommandRow& row : CommandRows()) {
    absl::StrAppendFormat(&text, "complete -c onnx-mem -n __fish_use_subcommand -a %s -d '%s'\n", row.name,
                          Quoted(row.summary));
  }
  absl::StrAppendFormat(&text, "complete -c onnx-mem -n __fish_use_subcommand -k -x -a '%s'\n",
                        FishFiles(CommandRows().front().files));
  for (const CommandRow& row : CommandRows()) {
    const std::string operands = row.words != nullptr ? Literal(WordsFor(row))
                                 : row.files.empty()  ? ""
                                                      : FishFiles(row.files);
    if (operands.empty()) continue;
    absl::StrAppendFormat(&text, "complete -c onnx-mem -n '__fish_seen_subcommand_from %s' -k -x -a '%s'\n", row.name,
                          operands);
  }
  const CommandRow& by_default = CommandRows().front();
  for (const OptionRow& row : OptionRows()) {
    text += "complete -c onnx-mem";
    if ((row.commands & by_default.bit) == 0) {  // of some commands alone
      std::string names;
      for (const CommandRow& command : CommandRows()) {
        if ((row.commands & command.bit) != 0) absl::StrAppendFormat(&names, " %s", command.name);
      }
      absl::StrAppendFormat(&text, " -n '__fish_seen_subcommand_from%s'", names);
    }
    if (!row.short_name.empty()) absl::StrAppendFormat(&text, " -s %s", row.short_name.substr(1));
    if (!row.long_name.empty()) absl::StrAppendFormat(&text, " -l %s", row.long_name.substr(2));
    if (!row.value.empty()) text += TakesFile(row) ? " -r -F" : " -x";
    if (const auto words = OfferedFor(row); !words.empty()) {
      absl::StrAppendFormat(&text, " -a '%s'", Literal(absl::StrJoin(words, " ")));
    }
    absl::StrAppendFormat(&text, " -d '%s'\n", Quoted(row.help));
  }
  return text;
}

struct ShellRow {
  std::string_view name;
  std::string (*script)();
};
constexpr auto kShells = std::to_array<ShellRow>({{"bash", Bash}, {"zsh", Zsh}, {"fish", Fish}});

}  // namespace

std::vector<std::string> CompletedShells() {
  std::vector<std::string> names;
  for (const ShellRow& shell : kShells) names.emplace_back(shell.name);
  return names;
}

absl::StatusOr<CommandAnswer> RunCompletion(const Options& options) {
  for (const ShellRow& shell : kShells) {
    if (SameWord(shell.name, options.operands.front())) return CommandAnswer{shell.script()};
  }
  return UnknownChoice(options.operands.front(), CompletedShells());
}

}  // namespace onnx_mem
