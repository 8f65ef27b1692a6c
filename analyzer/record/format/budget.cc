#include "analyzer/record/format/budget.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem::record {
namespace {

size_t BytesOf(const Argument& argument) {
  size_t bytes = sizeof(Argument) + argument.text.size();
  for (const Argument& item : argument.items) bytes += BytesOf(item);
  return bytes;
}

absl::Status MoreThan(const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge, absl::StrCat("the record ", what),
                     {"way out: a record made with smaller inputs (onnx_mem.export), or the model without its record"});
}

}  // namespace

void Budget::StartProgram() {
  open_names_.clear();
  open_bytes_ = 0;
  named_bytes_ = 0;
  operators_ = 0;
}

void Budget::OpenCall(std::string_view name) {
  open_names_.push_back(static_cast<int64_t>(sizeof(std::string) + name.size()));
  open_bytes_ += open_names_.back();
}

void Budget::CloseCall() {
  if (open_names_.empty()) return;
  open_bytes_ -= open_names_.back();
  open_names_.pop_back();
}

void Budget::Count(const Line& line) {
  const size_t numbers = line.values.size() + line.drops.size() + 2 * line.pairs.size();
  CountBytes(sizeof(Line) + line.name.size() + numbers * sizeof(ValueNumber));
  for (const Argument& argument : line.arguments) CountBytes(BytesOf(argument));
  for (const auto& [name, argument] : line.options) CountBytes(name.size() + BytesOf(argument));
  named_bytes_ += open_bytes_;
  operators_ += line.kind == Line::Kind::kOp;
}

void Budget::Count(const Value& value) {
  const size_t sizes = value.type.dims.size() + (value.type.strides ? value.type.strides->size() : 0);
  CountBytes(value.name.size() + sizes * sizeof(Size));
}

absl::Status Budget::Check(int64_t lines, size_t open_spans) const {
  if (lines > most_lines_) return MoreThan(absl::StrCat("has more than ", most_lines_, " lines"));
  if (open_spans > kDeepestSpans) return MoreThan(absl::StrCat("has more than ", kDeepestSpans, " spans within spans"));
  if (operators_ > kMostOperators)
    return MoreThan(absl::StrCat("has a program of more than ", kMostOperators, " operators"));
  if (std::max(made_bytes_, named_bytes_) <= kMostRecordBytes) return absl::OkStatus();
  return MoreThan(absl::StrCat("takes more than ", kMostRecordBytes >> 20, " MiB"));
}

}  // namespace onnx_mem::record
