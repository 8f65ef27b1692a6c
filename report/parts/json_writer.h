// JSON written in one pass: keys in the order of the calls, no tree in between (a report may list 10,000 tensors).
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Add({{"batch", 64}});   the same as json.Key("batch").Int(64)
//   json.EndObject();            json.text() == "{\n  \"batch\": 64\n}"
#ifndef ONNX_MEM_REPORT_PARTS_JSON_WRITER_H_
#define ONNX_MEM_REPORT_PARTS_JSON_WRITER_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace onnx_mem {

// A value that is no object and no array; what is not known is null.
class JsonScalar {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a list of members is written with the values as they are.
  JsonScalar(bool value) : value_(value) {}
  template <std::integral T>
  JsonScalar(T number) : value_(static_cast<int64_t>(number)) {}
  JsonScalar(double number) : value_(number) {}
  JsonScalar(std::string_view text) : value_(text) {}
  JsonScalar(const std::string& text) : value_(std::string_view(text)) {}
  JsonScalar(const char* text) : value_(std::string_view(text)) {}
  template <class T>
  JsonScalar(const std::optional<T>& value) {
    if (value) *this = JsonScalar(*value);
  }
  // NOLINTEND(google-explicit-constructor)

 private:
  friend class JsonWriter;
  std::variant<std::monostate, bool, int64_t, double, std::string_view> value_;
};

// Text where "" means that there is none.
inline JsonScalar NullIfEmpty(std::string_view text) {
  return text.empty() ? JsonScalar(std::optional<bool>()) : JsonScalar(text);
}

class JsonWriter {
 public:
  enum class Layout { kLines, kOneLine };
  using Members = std::initializer_list<std::pair<std::string_view, JsonScalar>>;

  // kOneLine also holds for everything inside.
  JsonWriter& BeginObject(Layout layout = Layout::kLines) { return Begin('{', layout); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray(Layout layout = Layout::kLines) { return Begin('[', layout); }
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(std::string_view key);
  // The key, behind it null where nothing is known: then there is no value to write. Gives `known`.
  bool KeyOf(std::string_view key, bool known);

  // Members of the object that is open; an object of them; both ends of a range; texts.
  JsonWriter& Add(Members members);
  JsonWriter& Object(Members members, Layout layout = Layout::kOneLine);
  JsonWriter& Range(int64_t low, int64_t high);
  JsonWriter& Texts(const std::vector<std::string>& texts, Layout layout = Layout::kOneLine);

  JsonWriter& Scalar(const JsonScalar& scalar);
  JsonWriter& Int(int64_t number);
  JsonWriter& Number(double number);  // null for what JSON cannot say
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  // Bytes that are not UTF-8 become U+FFFD: names come from files.
  JsonWriter& String(std::string_view text);

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  struct Scope {
    bool one_line = false;
    bool empty = true;
  };
  JsonWriter& Begin(char bracket, Layout layout);
  JsonWriter& End(char bracket);
  void BeforeValue();
  void NewLine();
  void Quote(std::string_view text);

  std::string text_;
  std::vector<Scope> scopes_;
  bool after_key_ = false;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_JSON_WRITER_H_
