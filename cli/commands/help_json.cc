// onnx-mem --help --format json: the tables of commands and options, from which docs/reference/options.md and Python's
// signatures are made.
#include <string>
#include <vector>

#include "analyzer/study/assumption_list.h"
#include "cli/commands/commands.h"
#include "cli/commands/help.h"
#include "cli/options/option_table.h"
#include "report/parts/json_writer.h"

namespace onnx_mem {
namespace {

void WriteCommand(const CommandRow& command, JsonWriter& json) {
  json.BeginObject(JsonWriter::Layout::kOneLine);
  json.Key("name").String(command.name);
  json.Key("operands").String(command.operands);
  json.Key("summary").String(command.summary);
  json.EndObject();
}

void WriteTexts(std::string_view key, const std::vector<std::string>& texts, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

std::vector<std::string> CommandsWith(const OptionRow& row) {
  std::vector<std::string> names;
  for (const CommandRow& command : CommandRows()) {
    if ((row.commands & command.bit) != 0) names.emplace_back(command.name);
  }
  return names;
}

bool IsReported(const OptionRow& row) {
  for (const ReportedOption& option : ReportedOptions()) {
    if (row.long_name.size() > 2 && row.long_name.substr(2) == option.name) return true;
  }
  return false;
}

void WriteLibrary(const LibraryMember& member, JsonWriter& json) {
  json.Key("library");
  if (member.name.empty()) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("struct").String(member.of);
  json.Key("type").String(member.type);
  json.Key("member").String(member.name);
  json.Key("default").String(member.initial);
  json.EndObject();
}

void WriteOption(const OptionRow& row, JsonWriter& json) {
  json.BeginObject(JsonWriter::Layout::kOneLine);
  json.Key("name").String(DisplayName(row));
  json.Key("short").String(row.short_name);
  json.Key("value").String(row.value);
  json.Key("kind").String(row.kind());
  json.Key("repeatable").Bool(row.setter.repeatable);
  WriteTexts("choices", ChoicesOf(row), json);
  json.Key("group").String(TitleOf(row.group));
  WriteTexts("commands", CommandsWith(row), json);
  json.Key("help").String(row.help);
  json.Key("assumption").Bool(IsReported(row));
  WriteLibrary(row.library, json);
  json.EndObject();
}

}  // namespace

std::string HelpJson() {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("onnx-mem/1");
  json.Key("version").String(kVersion);
  json.Key("commands").BeginArray();
  for (const CommandRow& row : CommandRows()) WriteCommand(row, json);
  json.EndArray();
  json.Key("options").BeginArray();
  for (const OptionRow& row : OptionRows()) WriteOption(row, json);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace onnx_mem
