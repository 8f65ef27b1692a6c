#include "analyzer/record/format/program_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/record/format/budget.h"
#include "analyzer/record/format/cursor.h"
#include "analyzer/record/format/text.h"
#include "analyzer/run/limits.h"

namespace onnx_mem::record {
namespace {

constexpr size_t kMostAhead = 65536;  // values are numbered as they are made, but declared in groups

}  // namespace

// The words that spans and modes begin and end with. Words that end in no space may have nothing behind them.
struct ProgramReader::Word {
  std::string_view text;
  Line::Kind kind;
  void (ProgramReader::*read)(Cursor& c, Line& line);
  bool whole = false;  // it is all of the line
};

void ProgramReader::ReadLine(Cursor& c) {
  if (!returned_) {
    ReadStatement(c);
  } else if (c.Take("tree ")) {
    program_.tree = c.TakeRest();
  } else {
    c.Fail("'tree' or 'program'");
  }
}

void ProgramReader::Close(Cursor& c) const {
  if (!returned_) c.Fail("'return'");
}

void ProgramReader::ReadStatement(Cursor& c) {
  Line line{.number = c.number()};
  if (!ReadWord(c, line)) {
    if (ReadAside(c)) return;
    ReadOperation(c, line);
  }
  ends_function_ = line.kind == Line::Kind::kEndFunction;
  if (!c.error().ok()) return;
  budget_.Count(line);
  program_.lines.push_back(std::move(line));
}

// False, and nothing read, where the line begins with none of the words.
bool ProgramReader::ReadWord(Cursor& c, Line& line) {
  using Kind = Line::Kind;
  static constexpr auto kWords = std::to_array<Word>({
      {"call ", Kind::kCall, &ProgramReader::ReadCall},
      {"ret", Kind::kReturn, &ProgramReader::ReadEndOfCall, /*whole=*/true},
      {"grad ", Kind::kGrad, &ProgramReader::ReadGrad},
      {"leaf ", Kind::kLeaf, &ProgramReader::ReadLeaf},
      {"function ", Kind::kFunction, &ProgramReader::ReadFunction},
      {"endfunction", Kind::kEndFunction, &ProgramReader::ReadEndOfFunction},
      {"backward ", Kind::kBackward, &ProgramReader::ReadBackward},
      {"endbackward", Kind::kEndBackward, &ProgramReader::ReadEndOfBackward},
      {"checkpoint", Kind::kCheckpoint, &ProgramReader::ReadCheckpoint},
      {"endcheckpoint", Kind::kEndCheckpoint, &ProgramReader::ReadEndOfCheckpoint, /*whole=*/true},
  });
  const auto* word = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Word& one) { return one.whole ? c.rest() == one.text : c.Take(one.text); });
  if (word == kWords.end()) return false;
  line.kind = word->kind;
  (this->*word->read)(c, line);
  return true;
}

// What a program has beside its lines. False, and nothing read, for a line.
bool ProgramReader::ReadAside(Cursor& c) {
  if (c.Take("loss ")) {
    program_.loss = Use(c);
  } else if (c.Take("return")) {
    ReadReturn(c);
  } else if (c.Take("tied ")) {
    ReadTied(c);
  } else {
    return ReadDeclaration(c);
  }
  return true;
}

std::string_view ProgramReader::ReadPath(Cursor& c, std::string_view path) {
  if (limits::IsBeyondNames(path, ".")) {
    c.Fail(
        absl::StrCat("a path of at most ", limits::kDeepestModules, " modules and ", limits::kLongestName, " bytes"));
  }
  return path;
}

void ProgramReader::CloseSpan(Cursor& c, Line::Kind kind) {
  if (open_.empty() || open_.back() != kind) {
    c.Fail("the end of the innermost span");
    return;
  }
  open_.pop_back();
  if (kind == Line::Kind::kCall || kind == Line::Kind::kCheckpoint) c.TakeRest();
}

void ProgramReader::ReadGradients(Cursor& c, Line& line) {
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

void ProgramReader::ReadGradientsOfInputs(Cursor& c, Line& line) {
  if (c.done()) return;
  do {
    c.Expect(" ");
    const ValueNumber gradient = Use(c);
    c.Expect(" to ");
    line.pairs.emplace_back(gradient, Use(c));
  } while (c.Take(","));
}

void ProgramReader::ReadReturn(Cursor& c) {
  if (!open_.empty()) c.Fail("the end of the innermost span before 'return'");
  while (c.Take(" ")) {
    if (c.Take("-")) {
      program_.returned.emplace_back(std::nullopt);
    } else {
      program_.returned.emplace_back(Use(c));
    }
  }
  if (!c.done()) c.Fail("a value");
  const int64_t most = limits::LoweredNodes(static_cast<int64_t>(program_.lines.size()));
  if (static_cast<int64_t>(program_.returned.size()) > most) c.Fail(absl::StrCat("at most ", most, " results"));
  returned_ = true;
}

void ProgramReader::ReadTied(Cursor& c) {
  const ValueNumber value = Use(c);
  c.Expect(" ");
  if (!c.error().ok()) return;
  const Value::Kind kind = program_.values[static_cast<size_t>(value)].kind;
  if (kind != Value::Kind::kParameter && kind != Value::Kind::kInput) c.Fail("a parameter or an input");
  const std::string_view name = ReadPath(c, c.TakeRest());
  budget_.CountBytes(sizeof(std::string) + name.size());
  program_.values[static_cast<size_t>(value)].tied.emplace_back(name);
}

bool ProgramReader::ReadDeclaration(Cursor& c) {
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
    value.name = c.ReadName();
    ReadPath(c, value.name);
    c.Expect(" ");
  }
  value.type = ReadType(c);
  CheckRoot(c, value.type);
  value.frozen = value.kind == Value::Kind::kParameter && c.Take(" frozen");
  if (!c.done()) c.Fail("the end of the line");
  Define(c, number, std::move(value));
  return true;
}

void ProgramReader::ReadResults(Cursor& c, Line& line) {
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

void ProgramReader::ReadOperation(Cursor& c, Line& line) {
  ReadResults(c, line);
  line.name = c.Word(" ");
  while (c.Take(" ")) {
    if (absl::StartsWith(ViewOf(c.rest()), "drop %")) {
      c.Skip(5);
      line.drops = UseAll(c);
      break;
    }
    std::string option = OptionName(c);
    Argument argument = ReadArgument(c);
    CheckArgument(c, argument);
    if (option.empty()) {
      line.arguments.push_back(std::move(argument));
    } else {
      line.options.emplace_back(std::move(option), std::move(argument));
    }
  }
  if (!c.done()) c.Fail("the end of the line");
}

std::string ProgramReader::OptionName(Cursor& c) {
  if (!absl::ascii_isalpha(static_cast<unsigned char>(c.next()))) return "";
  const std::string_view rest = c.rest();
  const size_t end = rest.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (end == rest.npos || rest[end] != '=') return "";
  c.Skip(end + 1);
  return std::string(rest.substr(0, end));
}

void ProgramReader::CheckArgument(Cursor& c, const Argument& argument) {
  if (argument.kind == Argument::Kind::kValue) CheckDefined(c, argument.value);
  for (const Argument& item : argument.items) CheckArgument(c, item);
}

void ProgramReader::CheckRoot(Cursor& c, const ValueType& type) {
  if (type.root >= 0) CheckDefined(c, type.root);
}

void ProgramReader::CheckDefined(Cursor& c, ValueNumber number) {
  const auto at = static_cast<size_t>(number);
  if (number < 0 || at >= program_.values.size() || !program_.values[at].defined) {
    c.Fail("a value that is there");
  }
}

ValueNumber ProgramReader::Use(Cursor& c) {
  const ValueNumber number = c.Number();
  if (c.error().ok()) CheckDefined(c, number);
  return number;
}

std::vector<ValueNumber> ProgramReader::UseAll(Cursor& c) {
  std::vector<ValueNumber> numbers = ReadNumbers(c);
  if (!c.error().ok()) return numbers;
  for (ValueNumber number : numbers) CheckDefined(c, number);
  return numbers;
}

void ProgramReader::Define(Cursor& c, ValueNumber number, Value value) {
  if (!c.error().ok()) return;
  std::vector<Value>& values = program_.values;
  const auto at = static_cast<size_t>(number);
  if (number < 0 || at > defined_ + kMostAhead) return c.Fail("values numbered as they are made");
  if (at >= values.size()) {
    budget_.CountBytes((at + 1 - values.size()) * sizeof(Value));
    values.resize(at + 1);
  }
  budget_.Count(value);
  if (values[at].defined) return c.Fail("a value that is new");
  value.defined = true;
  ++defined_;
  values[at] = std::move(value);
}

}  // namespace onnx_mem::record
