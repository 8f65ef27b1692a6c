#include "planner/code/python_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

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

}  // namespace onnx_mem
