#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/record/budget.h"
#include "analyzer/record/cursor.h"
#include "analyzer/record/text.h"
#include "analyzer/run/limits.h"

namespace onnx_mem::record {
namespace {

bool IsPrecision(std::string_view name) {
  return name == "bf16" || name == "fp16" || name == "amp-bf16" || name == "amp-fp16";
}

constexpr std::string_view kFirstWord = "eager ";
constexpr std::string_view kFirstLine = "eager 1";
constexpr size_t kMostAhead = 65536;  // values are numbered as they are made, but declared in groups

class Reader {
 public:
  explicit Reader(int64_t stored_bytes) : budget_(stored_bytes) {}

  absl::StatusOr<Record> Read(std::string_view text) {
    int64_t number = 0;
    for (size_t begin = 0; begin < text.size(); ++number) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const absl::string_view stripped = absl::StripAsciiWhitespace(ViewOf(text.substr(begin, end - begin)));
      begin = end + 1;
      Cursor c({stripped.data(), stripped.size()}, number + 1);
      ReadLine(c);
      RETURN_IF_ERROR(c.error());
      RETURN_IF_ERROR(budget_.Check(c.number(), open_.size()));
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
    } else if (c.Take("free S ")) {
      ReadFree(c);
    } else if (c.Take("batches ")) {
      ReadBatches(c);
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

  // "free S seq 128 step 8 seen 64 128", before the programs.
  void ReadFree(Cursor& c) {
    if (program_ != nullptr || record_.free) c.Fail("one free size, before the programs");
    FreeSize free;
    free.name = c.Word(" ");
    c.Expect(" ");
    free.length = ReadLength(c);
    c.Expect(" step ");
    free.step = ReadLength(c);
    c.Expect(" seen ");
    free.first = ReadLength(c);
    c.Expect(" ");
    free.last = ReadLength(c);
    if (!c.done()) c.Fail("the end of the line");
    record_.free = std::move(free);
  }

  // "batches 1 16", or "batches 17" for all from there on, before the programs.
  void ReadBatches(Cursor& c) {
    if (program_ != nullptr || std::exchange(has_batches_, true)) c.Fail("one range of batches, before the programs");
    record_.batches.first = ReadLength(c);
    if (c.Take(" ")) record_.batches.last = ReadLength(c);
    if (!c.done() || record_.batches.last < record_.batches.first) c.Fail("the first batch and the last");
  }

  static int64_t ReadLength(Cursor& c) {
    int64_t length = 0;
    if (!absl::SimpleAtoi(ViewOf(c.Word(" ")), &length) || length < 1 || length > kMostLength) {
      c.Fail("a length");
    }
    return length;
  }

  void StartProgram(Cursor& c) {
    if (program_ != nullptr) CloseProgram(c);
    const std::string_view all = c.TakeRest();
    const size_t mode_ends = std::min(all.find(' '), all.size());
    std::optional<Program>* slot = SlotOf(all.substr(0, mode_ends), all.substr(mode_ends));
    if (slot == nullptr || slot->has_value()) {
      c.Fail("'eval' or 'train', a precision or none, 'at 1' or none, each once");
      return;
    }
    program_ = &slot->emplace();
    returned_ = false;
    defined_ = 0;
    open_.clear();
    budget_.StartProgram();
  }

  // `rest`: "" or " bf16", then "" or " at 1".
  std::optional<Program>* SlotOf(std::string_view mode, std::string_view rest) {
    if (mode != "eval" && mode != "train") return nullptr;
    constexpr std::string_view kAlone = " at 1";
    const bool alone = rest.ends_with(kAlone);
    if (alone) rest.remove_suffix(kAlone.size());
    if (rest.empty() && !alone) return mode == "eval" ? &record_.eval : &record_.train;
    if (!rest.empty()) {
      if (!rest.starts_with(' ') || !IsPrecision(rest.substr(1))) return nullptr;
      rest.remove_prefix(1);
    }
    const int64_t batch = alone ? 1 : 0;
    auto found = std::find_if(record_.variants.begin(), record_.variants.end(), [&](const Variant& variant) {
      return variant.precision == rest && variant.batch == batch;
    });
    if (found == record_.variants.end()) {
      record_.variants.push_back({.precision = std::string(rest), .batch = batch});
      found = record_.variants.end() - 1;
    }
    return mode == "eval" ? &found->eval : &found->train;
  }

  void CloseProgram(Cursor& c) {
    if (!returned_) c.Fail("'return'");
  }

  void ReadStatement(Cursor& c) {
    Line line{.number = c.number()};
    if (c.Take("call ")) {
      line.kind = Line::Kind::kCall;
      line.name = ReadPath(c, c.TakeRest());
      Open(line.kind);
      budget_.OpenCall(line.name);
    } else if (c.rest() == "ret") {
      line.kind = Line::Kind::kReturn;
      Close(c, Line::Kind::kCall);
      budget_.CloseCall();
    } else if (c.Take("grad ")) {
      line.kind = Line::Kind::kGrad;
      line.flag = c.rest() == "on";
      if (!line.flag && c.rest() != "off") c.Fail("'on' or 'off'");
    } else if (c.Take("leaf ")) {
      line.kind = Line::Kind::kLeaf;
      line.values = {Use(c)};
    } else if (c.Take("function ")) {
      line.kind = Line::Kind::kFunction;
      line.name = ReadPath(c, c.TakeRest());
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
    if (!c.error().ok()) return;
    budget_.Count(line);
    program_->lines.push_back(std::move(line));
  }

  // A path of thousands of modules would be taken apart again and again.
  static std::string_view ReadPath(Cursor& c, std::string_view path) {
    if (limits::IsBeyondNames(path, ".")) {
      c.Fail(
          absl::StrCat("a path of at most ", limits::kDeepestModules, " modules and ", limits::kLongestName, " bytes"));
    }
    return path;
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
    const int64_t most = limits::LoweredNodes(static_cast<int64_t>(program_->lines.size()));
    if (static_cast<int64_t>(program_->returned.size()) > most) c.Fail(absl::StrCat("at most ", most, " results"));
    returned_ = true;
  }

  void ReadTied(Cursor& c) {
    const ValueNumber value = Use(c);
    c.Expect(" ");
    if (!c.error().ok()) return;
    if (program_->values[static_cast<size_t>(value)].kind != Value::Kind::kParameter) c.Fail("a parameter");
    const std::string_view name = ReadPath(c, c.TakeRest());
    budget_.CountBytes(sizeof(std::string) + name.size());
    program_->values[static_cast<size_t>(value)].tied.emplace_back(name);
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
      value.name = ReadPath(c, c.Word(" "));
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

  Record record_;
  Program* program_ = nullptr;
  bool returned_ = false;
  bool has_batches_ = false;
  bool ends_function_ = false;  // the last line was an endfunction
  size_t defined_ = 0;
  std::vector<Line::Kind> open_;
  Budget budget_;
};

}  // namespace

bool LooksLikeRecord(std::string_view head) { return absl::StartsWith(ViewOf(head), ViewOf(kFirstWord)); }

absl::StatusOr<Record> ParseRecord(std::string_view text, std::optional<int64_t> stored_bytes) {
  return Reader(stored_bytes.value_or(static_cast<int64_t>(text.size()))).Read(text);
}

}  // namespace onnx_mem::record
