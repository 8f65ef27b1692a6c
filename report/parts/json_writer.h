// JSON written as it goes: keys in the order of the calls, no tree in between (a report may list 10,000 tensors).
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("batch").Int(64);
//   json.EndObject();            json.text() == "{\n  \"batch\": 64\n}"
#ifndef ONNX_MEM_REPORT_PARTS_JSON_WRITER_H_
#define ONNX_MEM_REPORT_PARTS_JSON_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onnx_mem {

class JsonWriter {
 public:
  enum class Layout { kLines, kOneLine };

  // kOneLine also holds for everything inside.
  JsonWriter& BeginObject(Layout layout = Layout::kLines) { return Begin('{', layout); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray(Layout layout = Layout::kLines) { return Begin('[', layout); }
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(std::string_view key);

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
