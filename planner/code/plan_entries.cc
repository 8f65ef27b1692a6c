#include "planner/code/plan_entries.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/code/keep_table.h"
#include "planner/code/name_patterns.h"
#include "planner/code/python_text.h"

namespace onnx_mem {
namespace {

constexpr size_t kLine = 118;

// As a Python list: [0, *[7087872] * 4].
std::string CountsText(const std::vector<int64_t>& counts) {
  constexpr int64_t kSame = 3;
  std::vector<std::string> parts;
  for (auto at = counts.begin(); at != counts.end();) {
    const auto end = std::find_if(at, counts.end(), [&](int64_t count) { return count != *at; });
    if (end - at >= kSame) {
      parts.push_back(absl::StrCat("*[", *at, "] * ", end - at));
      at = end;
    } else {
      parts.push_back(absl::StrCat(*at++));
    }
  }
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

std::string SettingsOf(const PlanEntry& entry) {
  const std::string parameters =
      entry.parameters.empty() ? "" : absl::StrCat(", \"parameters\": ", CountsText(entry.parameters));
  return absl::StrCat(entry.before, parameters, entry.after);
}

EntryLine LineOf(const PlanEntry& entry) {
  return {absl::StrCat("{\"modules\": ", NamesOf(entry.modules), SettingsOf(entry), "}"),
          absl::StrCat("frees ", Thousands(entry.frees_bytes), " bytes",
                       entry.calls > 1 ? absl::StrCat(", in each of ", entry.calls, " calls") : "")};
}

// Entries of repeated blocks, that differ in a number, as one comprehension.
EntryLine LineOf(const NameGroup& group, const std::vector<PlanEntry>& entries) {
  int64_t bytes = 0;
  for (size_t member : group.members) bytes += entries[member].frees_bytes;
  return {
      absl::StrCat("*({\"modules\": [f", Quoted(absl::StrCat(group.before, "{i}", group.after)), "]",
                   SettingsOf(entries[group.members.front()]), "}\n      for i in ", SequenceOf(group.numbers), ")"),
      absl::StrCat(group.numbers.size(), ", which free ", Thousands(bytes), " bytes")};
}

}  // namespace

std::string Thousands(int64_t value) {
  std::string digits = absl::StrCat(value);
  for (size_t at = digits.size(); at > (value < 0 ? 4U : 3U);) digits.insert(at -= 3, ",");
  return digits;
}

std::vector<EntryLine> EntryLines(const std::vector<PlanEntry>& entries) {
  std::vector<std::string> names, kinds;
  for (const PlanEntry& entry : entries) {
    const bool alone =
        entry.modules.size() != 1 || entry.calls > 1 || entry.modules.front().find_first_of("{}") != std::string::npos;
    names.push_back(alone ? "" : entry.modules.front());
    kinds.push_back(SettingsOf(entry));
  }
  std::vector<EntryLine> lines;
  for (const NameGroup& group : GroupNames(names, kinds)) {
    lines.push_back(group.numbers.empty() ? LineOf(entries[group.members.front()]) : LineOf(group, entries));
  }
  return lines;
}

std::string InLines(const std::vector<std::string>& items, std::string_view indent, int64_t most_lines) {
  for (size_t longest = kLine; !items.empty(); longest += longest / 4) {
    std::vector<std::string> lines;
    for (const std::string& item : items) {
      if (lines.empty() || indent.size() + lines.back().size() + 3 + item.size() > longest) {
        lines.push_back(item);
      } else {
        absl::StrAppend(&lines.back(), ", ", item);
      }
    }
    if (std::ssize(lines) > std::max<int64_t>(most_lines, 1)) continue;
    const std::string before(indent);
    return absl::StrCat(before, absl::StrJoin(lines, absl::StrCat(",\n", before)), ",\n");
  }
  return "";
}

}  // namespace onnx_mem
