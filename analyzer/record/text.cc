#include "analyzer/record/text.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem::record {
namespace {

constexpr std::string_view kFirstWord = "eager ";
constexpr std::string_view kFirstLine = "eager 1";
constexpr size_t kMostNesting = 8;     // of lists in an argument
constexpr size_t kMostAhead = 65536;   // values are numbered as they are made, but declared in groups

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

struct DTypeWord {
  std::string_view word;
  DType dtype;
};
constexpr auto kWords = std::to_array<DTypeWord>({
    {"f32", DType::kFloat32},       {"f16", DType::kFloat16},        {"bf16", DType::kBFloat16},
    {"f64", DType::kFloat64},       {"i64", DType::kInt64},          {"i32", DType::kInt32},
    {"i16", DType::kInt16},         {"i8", DType::kInt8},            {"u8", DType::kUInt8},
    {"b8", DType::kBool},           {"c64", DType::kComplex64},      {"c128", DType::kComplex128},
    {"uint16", DType::kUInt16},     {"uint32", DType::kUInt32},      {"uint64", DType::kUInt64},
    {"float8_e4m3fn", DType::kFloat8},
});

DType DTypeOf(std::string_view word) {
  const auto* row = std::find_if(kWords.begin(), kWords.end(), [&](const DTypeWord& r) { return r.word == word; });
  if (row != kWords.end()) return row->dtype;
  return absl::StartsWith(View(word), "float8_") ? DType::kFloat8 : DType::kUnknown;
}

std::string_view WordOf(DType dtype) {
  const auto* row = std::find_if(kWords.begin(), kWords.end(), [&](const DTypeWord& r) { return r.dtype == dtype; });
  return row == kWords.end() ? std::string_view("?") : row->word;
}

// One line under a cursor. The first thing that is not as it should be is kept, and nothing is read after it.
class Cursor {
 public:
  Cursor(std::string_view text, int64_t number) : text_(text), number_(number) {}

  int64_t number() const { return number_; }
  bool done() const { return !error_.ok() || at_ >= text_.size(); }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string_view rest() const { return text_.substr(at_); }
  const absl::Status& error() const { return error_; }

  void Fail(std::string_view expected) {
    if (!error_.ok()) return;
    error_ = ErrorStatus(absl::StatusCode::kInvalidArgument, "bad-record",
                         absl::StrCat("line ", number_, " of the record, column ", at_ + 1, ": expected ",
                                      View(expected), ": ", View(text_.substr(0, 100))));
    at_ = text_.size();
  }
  bool Take(std::string_view token) {
    if (!error_.ok() || !absl::StartsWith(View(rest()), View(token))) return false;
    at_ += token.size();
    return true;
  }
  void Expect(std::string_view token) {
    if (!Take(token)) Fail(absl::StrCat("'", View(token), "'"));
  }
  std::string_view Word(std::string_view stop = " ,]=^") {
    const size_t end = std::min(text_.find_first_of(stop, at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) Fail("a word");
    at_ = end;
    return word;
  }
  std::string_view TakeRest() {
    const std::string_view all = rest();
    at_ = text_.size();
    return all;
  }
  ValueNumber Number() {
    Expect("%");
    int32_t number = -1;
    const std::string_view word = Word(" ,]=^");
    if (word.find_first_not_of("0123456789") != word.npos || !absl::SimpleAtoi(View(word), &number)) Fail("a value");
    return number;
  }
  Size ReadSize(std::string_view stop = " ,]=^") {
    const std::string_view word = Word(stop);
    const std::optional<Size> size = ParseSize(word);
    if (!size) Fail("a size");
    return size.value_or(Size{});
  }
  void Skip(size_t count) { at_ = std::min(at_ + count, text_.size()); }

 private:
  std::string_view text_;
  size_t at_ = 0;
  int64_t number_;
  absl::Status error_;
};

// What follows '[', to ']'.
std::vector<Size> ReadSizes(Cursor& c) {
  std::vector<Size> sizes;
  while (!c.Take("]")) {
    if (c.done()) {
      c.Fail("']'");
      break;
    }
    sizes.push_back(c.ReadSize());
    c.Take(",");
  }
  return sizes;
}

ValueType ReadType(Cursor& c) {
  ValueType type;
  type.dtype = DTypeOf(c.Word("[ "));
  if (type.dtype == DType::kUnknown) c.Fail("a type of elements");
  c.Expect("[");
  type.dims = ReadSizes(c);
  if (c.Take("/[")) type.strides = ReadSizes(c);
  if (type.strides && type.strides->size() != type.dims.size()) c.Fail("one stride for each dimension");
  if (c.Take("+")) type.offset = c.ReadSize(" ,]=^:");
  if (c.Take(":")) type.device = c.Word();
  if (c.Take(" ^")) type.root = c.Number();
  return type;
}

Argument ReadArgument(Cursor& c, size_t depth);

Argument ReadList(Cursor& c, size_t depth) {
  Argument list{.kind = Argument::Kind::kList};
  if (depth > kMostNesting) c.Fail("fewer lists within lists");
  while (!c.Take("]")) {
    if (c.done()) {
      c.Fail("']'");
      break;
    }
    list.items.push_back(ReadArgument(c, depth + 1));
    c.Take(",");
  }
  return list;
}

// A string as JSON writes it, with its quotes.
std::string ReadString(Cursor& c) {
  const std::string_view rest = c.rest();
  size_t end = 1;
  while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
  if (end >= rest.size()) {
    c.Fail("the end of a string");
    return "";
  }
  c.Skip(end + 1);
  return std::string(rest.substr(0, end + 1));
}

Argument ReadArgument(Cursor& c, size_t depth) {
  const char first = c.next();
  if (first == '[') {
    c.Skip(1);
    return ReadList(c, depth);
  }
  if (first == '"') return {.kind = Argument::Kind::kString, .text = ReadString(c)};
  if (first == '%') return {.kind = Argument::Kind::kValue, .value = c.Number()};
  const std::string_view word = c.Word();
  if (word == "-") return {};
  if (word == "T" || word == "F") return {.kind = Argument::Kind::kBool, .flag = word == "T"};
  if (first == '@') return {.kind = Argument::Kind::kDevice, .text = std::string(word.substr(1))};
  if (first == '!') return {.kind = Argument::Kind::kEnum, .text = std::string(word.substr(1))};
  if (const DType dtype = DTypeOf(word); dtype != DType::kUnknown) {
    return {.kind = Argument::Kind::kDType, .dtype = dtype};
  }
  if (const std::optional<Size> size = ParseSize(word)) return {.kind = Argument::Kind::kSize, .size = *size};
  Argument number{.kind = Argument::Kind::kFloat, .text = std::string(word)};
  if (!absl::SimpleAtod(View(word), &number.number)) c.Fail("an argument");
  return number;
}

std::vector<ValueNumber> ReadNumbers(Cursor& c) {
  std::vector<ValueNumber> numbers;
  while (!c.done() && c.next() == '%') {
    numbers.push_back(c.Number());
    c.Take(" ");
  }
  return numbers;
}

class Reader {
 public:
  absl::StatusOr<Record> Read(std::string_view text) {
    int64_t number = 0;
    for (size_t begin = 0; begin < text.size(); ++number) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const absl::string_view stripped = absl::StripAsciiWhitespace(View(text.substr(begin, end - begin)));
      begin = end + 1;
      Cursor c({stripped.data(), stripped.size()}, number + 1);
      ReadLine(c);
      RETURN_IF_ERROR(c.error());
    }
    Cursor end("", number + 1);
    if (program_ != nullptr) CloseProgram(end);
    if (end.error().ok() && !record_.eval && !record_.train) end.Fail("a program");
    RETURN_IF_ERROR(end.error());
    return std::move(record_);
  }

 private:
  void ReadLine(Cursor& c) {
    if (c.number() == 1) {
      if (c.rest() != kFirstLine) c.Fail("'eager 1' (a record of a newer version?)");
    } else if (c.rest().empty()) {
      return;
    } else if (c.Take("torch ")) {
      record_.torch_version = c.TakeRest();
    } else if (c.Take("program ")) {
      StartProgram(c);
    } else if (program_ == nullptr) {
      c.Fail("'program'");
    } else if (returned_ && !c.Take("tree ")) {
      c.Fail("'tree' or 'program'");
    } else if (returned_) {
      program_->tree = c.TakeRest();
    } else {
      ReadStatement(c);
    }
  }

  void StartProgram(Cursor& c) {
    if (program_ != nullptr) CloseProgram(c);
    const std::string_view mode = c.TakeRest();
    std::optional<Program>* slot = mode == "eval" ? &record_.eval : (mode == "train" ? &record_.train : nullptr);
    if (slot == nullptr || slot->has_value()) {
      c.Fail("'eval' or 'train', each once");
      return;
    }
    program_ = &slot->emplace();
    returned_ = false;
    defined_ = 0;
    open_.clear();
  }

  void CloseProgram(Cursor& c) {
    if (!returned_) c.Fail("'return'");
  }

  void ReadStatement(Cursor& c) {
    Line line{.number = c.number()};
    if (c.Take("call ")) {
      line.kind = Line::Kind::kCall;
      line.name = c.TakeRest();
      Open(line.kind);
    } else if (c.rest() == "ret") {
      line.kind = Line::Kind::kReturn;
      Close(c, Line::Kind::kCall);
    } else if (c.Take("grad ")) {
      line.kind = Line::Kind::kGrad;
      line.flag = c.rest() == "on";
      if (!line.flag && c.rest() != "off") c.Fail("'on' or 'off'");
    } else if (c.Take("leaf ")) {
      line.kind = Line::Kind::kLeaf;
      line.values = {Use(c)};
    } else if (c.Take("function ")) {
      line.kind = Line::Kind::kFunction;
      line.name = c.TakeRest();
      Open(line.kind);
    } else if (c.Take("endfunction")) {
      line.kind = Line::Kind::kEndFunction;
      Close(c, Line::Kind::kFunction);
      c.Take(" ");
      line.values = UseAll(c);
      if (c.Take("held ")) line.drops = UseAll(c);
      ends_function_ = true;
    } else if (c.Take("backward ")) {
      line.kind = Line::Kind::kBackward;
      if (!ends_function_) c.Fail("'backward' right behind 'endfunction' only");
      ReadGradients(c, line);
      Open(line.kind);
    } else if (c.Take("endbackward")) {
      line.kind = Line::Kind::kEndBackward;
      Close(c, Line::Kind::kBackward);
      ReadGradientsOfInputs(c, line);
    } else if (c.Take("checkpoint")) {
      line.kind = Line::Kind::kCheckpoint;
      line.flag = c.Take(" reentrant");
      c.Take(" ");
      line.values = UseAll(c);
      Open(line.kind);
    } else if (c.rest() == "endcheckpoint") {
      line.kind = Line::Kind::kEndCheckpoint;
      Close(c, Line::Kind::kCheckpoint);
    } else if (c.Take("loss ")) {
      program_->loss = Use(c);
      return;
    } else if (c.Take("return")) {
      ReadReturn(c);
      return;
    } else if (c.Take("tied ")) {
      ReadTied(c);
      return;
    } else if (ReadDeclaration(c)) {
      return;
    } else {
      ReadOperation(c, line);
    }
    ends_function_ = line.kind == Line::Kind::kEndFunction;
    if (c.error().ok()) program_->lines.push_back(std::move(line));
  }

  void Open(Line::Kind kind) { open_.push_back(kind); }
  // The innermost open span must be of the kind. A word that closes without arguments is all of its line.
  void Close(Cursor& c, Line::Kind kind) {
    if (open_.empty() || open_.back() != kind) {
      c.Fail("the end of the innermost span");
      return;
    }
    open_.pop_back();
    if (kind == Line::Kind::kCall || kind == Line::Kind::kCheckpoint) c.TakeRest();
  }

  void ReadGradients(Cursor& c, Line& line) {
    do {
      const ValueNumber gradient = c.Number();
      c.Expect(" ");
      Value value{.kind = Value::Kind::kGradient};
      value.type = ReadType(c);
      CheckRoot(c, value.type);
      Define(c, gradient, std::move(value));
      c.Expect(" of ");
      line.pairs.emplace_back(gradient, Use(c));
    } while (c.Take(", "));
  }

  void ReadGradientsOfInputs(Cursor& c, Line& line) {
    if (c.done()) return;
    do {
      c.Expect(" ");
      const ValueNumber gradient = Use(c);
      c.Expect(" to ");
      line.pairs.emplace_back(gradient, Use(c));
    } while (c.Take(","));
  }

  void ReadReturn(Cursor& c) {
    if (!open_.empty()) c.Fail("the end of the innermost span before 'return'");
    while (c.Take(" ")) {
      if (c.Take("-")) {
        program_->returned.emplace_back(std::nullopt);
      } else {
        program_->returned.emplace_back(Use(c));
      }
    }
    if (!c.done()) c.Fail("a value");
    returned_ = true;
  }

  void ReadTied(Cursor& c) {
    const ValueNumber value = Use(c);
    c.Expect(" ");
    if (!c.error().ok()) return;
    if (program_->values[static_cast<size_t>(value)].kind != Value::Kind::kParameter) c.Fail("a parameter");
    program_->values[static_cast<size_t>(value)].tied.emplace_back(c.TakeRest());
  }

  // "%3 param head.bias f32[10] frozen". False, and nothing read, where the line is none.
  bool ReadDeclaration(Cursor& c) {
    const std::string_view all = c.rest();
    const size_t space = all.find(' ');
    if (space == all.npos) return false;
    const std::string_view word = all.substr(space + 1, all.find(' ', space + 1) - space - 1);
    Value value;
    if (word == "param") {
      value.kind = Value::Kind::kParameter;
    } else if (word == "buffer") {
      value.kind = Value::Kind::kBuffer;
    } else if (word == "input") {
      value.kind = Value::Kind::kInput;
    } else if (word == "const") {
      value.kind = Value::Kind::kConstant;
    } else {
      return false;
    }
    const ValueNumber number = c.Number();
    c.Expect(" ");
    c.Skip(word.size());
    c.Expect(" ");
    if (value.kind != Value::Kind::kConstant) {
      value.name = c.Word(" ");
      c.Expect(" ");
    }
    value.type = ReadType(c);
    CheckRoot(c, value.type);
    value.frozen = value.kind == Value::Kind::kParameter && c.Take(" frozen");
    if (!c.done()) c.Fail("the end of the line");
    Define(c, number, std::move(value));
    return true;
  }

  void ReadResults(Cursor& c, Line& line) {
    while (!c.Take("= ")) {
      if (c.done()) return c.Fail("'='");
      const ValueNumber number = c.Number();
      c.Expect(" ");
      const bool old = !c.done() && (c.next() == '=' || c.next() == ',');
      line.values.push_back(number);
      line.made.push_back(!old);
      if (old) {
        CheckDefined(c, number);
      } else {
        Value value;
        value.type = ReadType(c);
        CheckRoot(c, value.type);
        Define(c, number, std::move(value));
      }
      if (!c.Take(", ")) c.Take(" ");
    }
  }

  void ReadOperation(Cursor& c, Line& line) {
    ReadResults(c, line);
    line.name = c.Word(" ");
    while (c.Take(" ")) {
      if (absl::StartsWith(View(c.rest()), "drop %")) {
        c.Skip(5);
        line.drops = UseAll(c);
        break;
      }
      std::string option = OptionName(c);
      Argument argument = ReadArgument(c, 0);
      CheckArgument(c, argument);
      if (option.empty()) {
        line.arguments.push_back(std::move(argument));
      } else {
        line.options.emplace_back(std::move(option), std::move(argument));
      }
    }
    if (!c.done()) c.Fail("the end of the line");
  }

  // Of "dtype=f32"; "" where the argument has none.
  static std::string OptionName(Cursor& c) {
    if (!absl::ascii_isalpha(static_cast<unsigned char>(c.next()))) return "";
    const std::string_view rest = c.rest();
    const size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (end == rest.npos || rest[end] != '=') return "";
    c.Skip(end + 1);
    return std::string(rest.substr(0, end));
  }

  void CheckArgument(Cursor& c, const Argument& argument) {
    if (argument.kind == Argument::Kind::kValue) CheckDefined(c, argument.value);
    for (const Argument& item : argument.items) CheckArgument(c, item);
  }

  void CheckRoot(Cursor& c, const ValueType& type) {
    if (type.root >= 0) CheckDefined(c, type.root);
  }
  void CheckDefined(Cursor& c, ValueNumber number) {
    const auto at = static_cast<size_t>(number);
    if (number < 0 || at >= program_->values.size() || !program_->values[at].defined) {
      c.Fail("a value that is there");
    }
  }
  ValueNumber Use(Cursor& c) {
    const ValueNumber number = c.Number();
    if (c.error().ok()) CheckDefined(c, number);
    return number;
  }
  std::vector<ValueNumber> UseAll(Cursor& c) {
    std::vector<ValueNumber> numbers = ReadNumbers(c);
    if (!c.error().ok()) return numbers;
    for (ValueNumber number : numbers) CheckDefined(c, number);
    return numbers;
  }
  void Define(Cursor& c, ValueNumber number, Value value) {
    if (!c.error().ok()) return;
    std::vector<Value>& values = program_->values;
    const auto at = static_cast<size_t>(number);
    if (number < 0 || at > defined_ + kMostAhead) return c.Fail("values numbered as they are made");
    if (at >= values.size()) values.resize(at + 1);
    if (values[at].defined) return c.Fail("a value that is new");
    value.defined = true;
    ++defined_;
    values[at] = std::move(value);
  }

  Record record_;
  Program* program_ = nullptr;
  bool returned_ = false;
  bool ends_function_ = false;  // the last line was an endfunction
  size_t defined_ = 0;
  std::vector<Line::Kind> open_;
};

std::string Text(const std::vector<Size>& sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ",", [](std::string* out, const Size& s) { *out += ToText(s); }), "]");
}

std::string Text(const ValueType& type) {
  std::string text = absl::StrCat(View(WordOf(type.dtype)), Text(type.dims));
  if (type.strides) absl::StrAppend(&text, "/", Text(*type.strides));
  if (!type.offset.is_zero()) absl::StrAppend(&text, "+", ToText(type.offset));
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
  absl::StrAppend(&text, "program ", View(mode), "\n");
  for (size_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    const std::string_view word = WordOf(value.kind);
    if (!value.defined || word.empty()) continue;
    absl::StrAppend(&text, "%", i, " ", View(word), value.name.empty() ? "" : " ", value.name, " ", Text(value.type),
                    value.frozen ? " frozen\n" : "\n");
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

}  // namespace

bool LooksLikeRecord(std::string_view head) { return absl::StartsWith(View(head), View(kFirstWord)); }

absl::StatusOr<Record> ParseRecord(std::string_view text) { return Reader().Read(text); }

std::string ToText(const Record& record) {
  std::string text = absl::StrCat(View(kFirstLine), "\ntorch ", record.torch_version, "\n");
  if (record.eval) AppendProgram("eval", *record.eval, text);
  if (record.train) AppendProgram("train", *record.train, text);
  return text;
}

}  // namespace onnx_mem::record
