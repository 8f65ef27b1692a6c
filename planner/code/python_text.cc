#include "planner/code/python_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "planner/code/name_patterns.h"

namespace onnx_mem {

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\r", "\\r"}}),
                      "\"");
}

std::string QuotedList(const std::vector<std::string>& names) {
  return absl::StrCat(
      "[",
      absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) { absl::StrAppend(out, Quoted(name)); }),
      "]");
}

std::string SequenceOf(const std::vector<int64_t>& numbers) {
  const int64_t step = StepOf(numbers);
  if (step == 0) return absl::StrCat("(", absl::StrJoin(numbers, ", "), ")");
  return absl::StrCat("range(", numbers.front(), ", ", numbers.back() + 1,
                      step == 1 ? ")" : absl::StrCat(", ", step, ")"));
}

}  // namespace onnx_mem
