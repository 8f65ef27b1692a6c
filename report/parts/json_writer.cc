#include "report/parts/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "report/parts/printable.h"

namespace onnx_mem {
namespace {

bool IsPlain(char byte) { return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\'; }

// Of a character of at most three bytes, as controls are.
uint32_t CodeOf(std::string_view character) {
  uint32_t code = static_cast<unsigned char>(character[0]);
  if (character.size() > 1) code &= character.size() == 2 ? 0x1Fu : 0x0Fu;
  for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3Fu);
  return code;
}

// The shortest decimal that reads as `number`, without an exponent unless that is shorter: what std::to_chars writes,
// which not every standard library has for doubles.
std::string Shortest(double number) {
  const auto written = [number](int digits) { return absl::StrFormat("%.*e", digits - 1, number); };
  const auto reads = [number](const std::string& text) {
    double back = 0;
    return absl::SimpleAtod(text, &back) && back == number;
  };
  int least = 1, enough = 17;  // digits
  while (least < enough) {
    const int middle = (least + enough) / 2;
    reads(written(middle)) ? enough = middle : least = middle + 1;
  }
  const std::string scientific = written(enough);
  const size_t e = scientific.find('e');
  const std::string sign = scientific.front() == '-' ? "-" : "";
  std::string digits = scientific.substr(sign.size(), e - sign.size());
  std::erase(digits, '.');
  int exponent = 0;
  if (!absl::SimpleAtoi(scientific.substr(e + 1), &exponent)) return scientific;
  const int count = static_cast<int>(digits.size());
  if (exponent < 0) {
    const int zeros = -exponent - 1;
    digits = "0." + std::string(static_cast<size_t>(zeros), '0') + digits;
  } else if (exponent < count - 1) {
    const int point = exponent + 1;
    digits.insert(static_cast<size_t>(point), ".");
  } else {
    const int zeros = exponent - count + 1;
    digits.append(static_cast<size_t>(zeros), '0');
  }
  const std::string fixed = sign + digits;
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

}  // namespace

JsonWriter& JsonWriter::Begin(char bracket, Layout layout) {
  BeforeValue();
  const bool one_line = layout == Layout::kOneLine || (!scopes_.empty() && scopes_.back().one_line);
  text_ += bracket;
  scopes_.push_back({one_line, true});
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  const Scope scope = scopes_.back();
  scopes_.pop_back();
  if (!scope.empty && !scope.one_line) NewLine();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  BeforeValue();
  Quote(key);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

bool JsonWriter::KeyOf(std::string_view key, bool known) {
  Key(key);
  if (!known) Null();
  return known;
}

JsonWriter& JsonWriter::Add(Members members) {
  for (const auto& [key, value] : members) Key(key).Scalar(value);
  return *this;
}

JsonWriter& JsonWriter::Object(Members members, Layout layout) { return BeginObject(layout).Add(members).EndObject(); }

JsonWriter& JsonWriter::Range(int64_t low, int64_t high) {
  return BeginArray(Layout::kOneLine).Int(low).Int(high).EndArray();
}

JsonWriter& JsonWriter::Texts(const std::vector<std::string>& texts, Layout layout) {
  BeginArray(layout);
  for (const std::string& text : texts) String(text);
  return EndArray();
}

JsonWriter& JsonWriter::Scalar(const JsonScalar& scalar) {
  if (const bool* truth = std::get_if<bool>(&scalar.value_)) return Bool(*truth);
  if (const int64_t* whole = std::get_if<int64_t>(&scalar.value_)) return Int(*whole);
  if (const double* number = std::get_if<double>(&scalar.value_)) return Number(*number);
  if (const auto* text = std::get_if<std::string_view>(&scalar.value_)) return String(*text);
  return Null();
}

JsonWriter& JsonWriter::Int(int64_t number) {
  BeforeValue();
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  text_.append(digits, end);
  return *this;
}

JsonWriter& JsonWriter::Number(double number) {
  if (!std::isfinite(number)) return Null();
  BeforeValue();
  const std::string written = Shortest(number);
  text_ += written;
  // A ratio stays a ratio for readers that tell 1 from 1.0.
  if (written.find_first_of(".e") == std::string::npos) text_ += ".0";
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  BeforeValue();
  Quote(text);
  return *this;
}

void JsonWriter::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (scopes_.empty()) return;
  if (!scopes_.back().empty) text_ += scopes_.back().one_line ? ", " : ",";
  scopes_.back().empty = false;
  if (!scopes_.back().one_line) NewLine();
}

void JsonWriter::NewLine() {
  text_ += '\n';
  text_.append(2 * scopes_.size(), ' ');
}

void JsonWriter::Quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  for (size_t at = 0; at < text.size();) {
    size_t plain = at;  // almost everything is copied in one piece
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    text_ += text.substr(at, plain - at);
    at = plain;
    if (at == text.size()) break;
    const char byte = text[at];
    const size_t length = CharacterLength(text, at);
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else if (byte == '"' || byte == '\\') {
      text_ += '\\';
      text_ += byte;
    } else if (IsControl(text.substr(at, length))) {
      const uint32_t code = CodeOf(text.substr(at, length));
      text_ += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) text_ += kHex[code >> shift & 15];
    } else {
      text_ += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  text_ += '"';
}

}  // namespace onnx_mem
