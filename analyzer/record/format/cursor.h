// Reads the parts of one line of a record: types, arguments, numbers of values.
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_CURSOR_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_CURSOR_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analyzer/record/format/record.h"

namespace onnx_mem::record {

// As the functions of Abseil want a text, whose string_view may be a type of its own.
inline absl::string_view ViewOf(std::string_view text) { return {text.data(), text.size()}; }

// One line under a cursor. The first thing that is not as it should be is kept, and nothing is read after it.
class Cursor {
 public:
  Cursor(std::string_view text, int64_t number) : text_(text), number_(number) {}

  int64_t number() const { return number_; }
  bool done() const { return !error_.ok() || at_ >= text_.size(); }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string_view rest() const { return text_.substr(at_); }
  const absl::Status& error() const { return error_; }

  void Fail(std::string_view expected);
  bool Take(std::string_view token);
  void Expect(std::string_view token);
  std::string_view Word(std::string_view stop = " ,]=^");
  std::string_view TakeRest();
  // A name that stands before a space: its own spaces are "%20", "%" is "%25".
  std::string ReadName();
  ValueNumber Number();
  Size ReadSize(std::string_view stop = " ,]=^");
  void Skip(size_t count);

 private:
  std::string_view text_;
  size_t at_ = 0;
  int64_t number_;
  absl::Status error_;
};

ValueType ReadType(Cursor& c);
Argument ReadArgument(Cursor& c, size_t depth = 0);
std::vector<ValueNumber> ReadNumbers(Cursor& c);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_CURSOR_H_
