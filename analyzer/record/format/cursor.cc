#include "analyzer/record/format/cursor.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/record/format/dtype_words.h"

namespace onnx_mem::record {
namespace {

constexpr size_t kMostNesting = 8;  // of lists in an argument

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

// "2j", "-1e-05+2j": as Python writes one. A sign behind an "e" is the exponent's.
bool IsComplexNumber(std::string_view word) {
  if (!word.ends_with('j')) return false;
  word.remove_suffix(1);
  double part = 0;
  size_t sign = word.find_last_of("+-");
  if (sign != word.npos && sign > 0 && word[sign - 1] == 'e') sign = word.find_last_of("+-", sign - 1);
  if (sign == word.npos || sign == 0) return absl::SimpleAtod(ViewOf(word), &part);
  return absl::SimpleAtod(ViewOf(word.substr(0, sign)), &part) && absl::SimpleAtod(ViewOf(word.substr(sign)), &part);
}

}  // namespace

void Cursor::Fail(std::string_view expected) {
  if (!error_.ok()) return;
  error_ = ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadRecord,
                       absl::StrCat("line ", number_, " of the record, column ", at_ + 1, ": expected ",
                                    ViewOf(expected), ": ", ViewOf(text_.substr(0, 100))));
  at_ = text_.size();
}

bool Cursor::Take(std::string_view token) {
  if (!error_.ok() || !absl::StartsWith(ViewOf(rest()), ViewOf(token))) return false;
  at_ += token.size();
  return true;
}

void Cursor::Expect(std::string_view token) {
  if (!Take(token)) Fail(absl::StrCat("'", ViewOf(token), "'"));
}

std::string_view Cursor::Word(std::string_view stop) {
  const size_t end = std::min(text_.find_first_of(stop, at_), text_.size());
  const std::string_view word = text_.substr(at_, end - at_);
  if (word.empty()) Fail("a word");
  at_ = end;
  return word;
}

std::string_view Cursor::TakeRest() {
  const std::string_view all = rest();
  at_ = text_.size();
  return all;
}

std::string Cursor::ReadName() { return absl::StrReplaceAll(ViewOf(Word(" ")), {{"%20", " "}, {"%25", "%"}}); }

ValueNumber Cursor::Number() {
  Expect("%");
  int32_t number = -1;
  const std::string_view word = Word(" ,]=^");
  if (word.find_first_not_of("0123456789") != word.npos || !absl::SimpleAtoi(ViewOf(word), &number)) Fail("a value");
  return number;
}

Size Cursor::ReadSize(std::string_view stop) {
  const std::string_view word = Word(stop);
  const std::optional<Size> size = ParseSize(word);
  if (!size) Fail("a size");
  return size.value_or(Size{});
}

void Cursor::Skip(size_t count) { at_ = std::min(at_ + count, text_.size()); }

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
  if (!IsComplexNumber(word) && !absl::SimpleAtod(ViewOf(word), &number.number)) c.Fail("an argument");
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

}  // namespace onnx_mem::record
