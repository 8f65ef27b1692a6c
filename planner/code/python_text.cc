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

namespace {

// "*(f"h.{i}" for i in range(0, 12))", or a name alone.
std::string GroupText(const NameGroup& group, const std::vector<std::string>& names) {
  if (group.numbers.empty()) return Quoted(names[group.members.front()]);
  return absl::StrCat("*(f", Quoted(absl::StrCat(group.before, "{i}", group.after)), " for i in ",
                      SequenceOf(group.numbers), ")");
}

}  // namespace

std::string GroupedList(const std::vector<std::string>& names, std::vector<std::string> kinds, size_t indent) {
  for (size_t i = 0; i < names.size(); ++i) {  // braces mean something else in an f-string
    if (names[i].find_first_of("{}") != std::string::npos) kinds[i] = names[i];
  }
  std::vector<std::string> parts;
  for (const NameGroup& group : GroupNames(names, kinds)) parts.push_back(GroupText(group, names));
  return absl::StrCat("[", absl::StrJoin(parts, absl::StrCat(",\n", std::string(indent, ' '))), "]");
}

}  // namespace onnx_mem
