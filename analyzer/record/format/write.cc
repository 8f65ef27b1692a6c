#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzer/record/format/dtype_words.h"
#include "analyzer/record/format/text.h"

namespace onnx_mem::record {
namespace {

// Without spaces: Cursor::ReadName reads it.
std::string WordOfName(const std::string& name) { return absl::StrReplaceAll(name, {{" ", "%20"}, {"%", "%25"}}); }

std::string Text(const std::vector<Size>& sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ",", [](std::string* out, const Size& s) { *out += ToText(s); }), "]");
}

std::string Text(const ValueType& type) {
  std::string text = absl::StrCat(std::string(WordOf(type.dtype)), Text(type.dims));
  if (type.strides) absl::StrAppend(&text, "/", Text(*type.strides));
  if (type.offset != Size{}) absl::StrAppend(&text, "+", ToText(type.offset));
  if (!type.device.empty()) absl::StrAppend(&text, ":", type.device);
  if (type.root >= 0) absl::StrAppend(&text, " ^%", type.root);
  return text;
}

std::string Text(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::kNone: return "-";
    case Argument::Kind::kValue: return absl::StrCat("%", argument.value);
    case Argument::Kind::kSize: return ToText(argument.size);
    case Argument::Kind::kFloat:
    case Argument::Kind::kString: return argument.text;
    case Argument::Kind::kBool: return argument.flag ? "T" : "F";
    case Argument::Kind::kDType: return std::string(WordOf(argument.dtype));
    case Argument::Kind::kDevice: return absl::StrCat("@", argument.text);
    case Argument::Kind::kEnum: return absl::StrCat("!", argument.text);
    case Argument::Kind::kList: break;
  }
  return absl::StrCat(
      "[", absl::StrJoin(argument.items, ",", [](std::string* out, const Argument& item) { *out += Text(item); }), "]");
}

std::string Numbers(const std::vector<ValueNumber>& numbers) {
  std::string text;
  for (ValueNumber number : numbers) absl::StrAppend(&text, " %", number);
  return text;
}

std::string Operation(const Line& line, const Program& program) {
  std::string text;
  for (size_t i = 0; i < line.values.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", %" : "%", line.values[i]);
    if (line.made[i]) absl::StrAppend(&text, " ", Text(program.values[static_cast<size_t>(line.values[i])].type));
  }
  absl::StrAppend(&text, text.empty() ? "= " : " = ", line.name);
  for (const Argument& argument : line.arguments) absl::StrAppend(&text, " ", Text(argument));
  for (const auto& [name, argument] : line.options) absl::StrAppend(&text, " ", name, "=", Text(argument));
  if (!line.drops.empty()) absl::StrAppend(&text, " drop", Numbers(line.drops));
  return text;
}

std::string Text(const Line& line, const Program& program) {
  switch (line.kind) {
    case Line::Kind::kOp: return Operation(line, program);
    case Line::Kind::kCall: return absl::StrCat("call ", line.name);
    case Line::Kind::kReturn: return "ret";
    case Line::Kind::kGrad: return line.flag ? "grad on" : "grad off";
    case Line::Kind::kLeaf: return absl::StrCat("leaf", Numbers(line.values));
    case Line::Kind::kFunction: return absl::StrCat("function ", line.name);
    case Line::Kind::kEndFunction:
      return absl::StrCat("endfunction", Numbers(line.values), line.drops.empty() ? "" : " held", Numbers(line.drops));
    case Line::Kind::kBackward:
      return absl::StrCat("backward ", absl::StrJoin(line.pairs, ", ", [&](std::string* out, const auto& pair) {
                            const ValueType& type = program.values[static_cast<size_t>(pair.first)].type;
                            absl::StrAppend(out, "%", pair.first, " ", Text(type), " of %", pair.second);
                          }));
    case Line::Kind::kEndBackward:
      return absl::StrCat("endbackward", absl::StrJoin(line.pairs, ",", [](std::string* out, const auto& pair) {
                            absl::StrAppend(out, " %", pair.first, " to %", pair.second);
                          }));
    case Line::Kind::kCheckpoint:
      return absl::StrCat("checkpoint", line.flag ? " reentrant" : "", Numbers(line.values));
    case Line::Kind::kEndCheckpoint: return "endcheckpoint";
  }
  return "";
}

std::string_view WordOf(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kParameter: return "param";
    case Value::Kind::kBuffer: return "buffer";
    case Value::Kind::kInput: return "input";
    case Value::Kind::kConstant: return "const";
    case Value::Kind::kMade:
    case Value::Kind::kGradient: break;
  }
  return "";
}

void AppendProgram(std::string_view mode, const Program& program, std::string& text) {
  absl::StrAppend(&text, "program ", std::string(mode), "\n");
  for (size_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    const std::string_view word = WordOf(value.kind);
    if (!value.defined || word.empty()) continue;
    absl::StrAppend(&text, "%", i, " ", std::string(word), value.name.empty() ? "" : " ", WordOfName(value.name), " ",
                    Text(value.type), value.frozen ? " frozen\n" : "\n");
    for (const std::string& other : value.tied) absl::StrAppend(&text, "tied %", i, " ", other, "\n");
  }
  size_t depth = 0;
  for (const Line& line : program.lines) {
    const bool closes = line.kind == Line::Kind::kReturn || line.kind == Line::Kind::kEndFunction ||
                        line.kind == Line::Kind::kEndBackward || line.kind == Line::Kind::kEndCheckpoint;
    const bool opens = line.kind == Line::Kind::kCall || line.kind == Line::Kind::kFunction ||
                       line.kind == Line::Kind::kBackward || line.kind == Line::Kind::kCheckpoint;
    if (closes) --depth;
    absl::StrAppend(&text, std::string(2 * depth, ' '), Text(line, program), "\n");
    if (opens) ++depth;
  }
  if (program.loss >= 0) absl::StrAppend(&text, "loss %", program.loss, "\n");
  absl::StrAppend(&text, "return");
  for (const std::optional<ValueNumber>& value : program.returned) {
    absl::StrAppend(&text, " ", value ? absl::StrCat("%", *value) : "-");
  }
  absl::StrAppend(&text, "\ntree ", program.tree, "\n");
}

void AppendStep(std::string_view call, const CountedStep& step, std::string& text) {
  absl::StrAppend(&text, "step ", std::string(call), " ", step.parameters, "\n");
  for (const CountedStep::Operator& op : step.operators) {
    absl::StrAppend(&text, "op ", op.phase, " ", op.name, op.module.empty() ? "" : " ", op.module, "\n");
  }
  for (const CountedStep::Storage& storage : step.storages) {
    absl::StrAppend(&text, storage.on_cpu ? "cpu " : "live ", storage.category, " ", ToText(storage.bytes), " ",
                    storage.begin, " ", storage.end, " ", storage.module.empty() ? "-" : WordOfName(storage.module),
                    storage.name.empty() ? "" : " ", storage.name);
    text += "\n";
  }
}

}  // namespace

std::string ToText(const Record& record) {
  std::string text = absl::StrCat("eager 1\ntorch ", record.torch_version, "\n");
  if (const std::optional<FreeSize>& free = record.free) {
    absl::StrAppend(&text, "free S ", free->name, " ", free->length, " step ", free->step, " seen ", free->first, " ",
                    free->last, "\n");
  }
  if (const BatchRange& batches = record.batches; !batches.Has(1) || batches.last != BatchRange().last) {
    absl::StrAppend(&text, "batches ", batches.first);
    if (batches.last != BatchRange().last) absl::StrAppend(&text, " ", batches.last);
    text += "\n";
  }
  if (record.eval) AppendProgram("eval", *record.eval, text);
  if (record.train) AppendProgram("train", *record.train, text);
  for (const Variant& variant : record.variants) {
    const std::string of = absl::StrCat(variant.precision.empty() ? "" : " ", variant.precision,
                                        variant.batch == 0 ? "" : absl::StrCat(" at ", variant.batch));
    if (variant.eval) AppendProgram(absl::StrCat("eval", of), *variant.eval, text);
    if (variant.train) AppendProgram(absl::StrCat("train", of), *variant.train, text);
  }
  if (record.first_call) AppendStep("first", *record.first_call, text);
  if (record.later_call) AppendStep("later", *record.later_call, text);
  return text;
}

}  // namespace onnx_mem::record
