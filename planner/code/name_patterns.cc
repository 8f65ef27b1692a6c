#include "planner/code/name_patterns.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {
namespace {

constexpr size_t kLeastMembers = 3;

struct NumberedName {
  std::string before;
  int64_t number = 0;
  std::string after;
};

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// By each number that reads back as it stands ("07" does not), the last one first.
std::vector<NumberedName> Numbered(const std::string& name) {
  std::vector<NumberedName> by_number;
  for (auto last = std::find_if(name.rbegin(), name.rend(), IsDigit); last != name.rend();) {
    const auto first = std::find_if_not(last, name.rend(), IsDigit);
    const auto begin = static_cast<size_t>(name.rend() - first), end = static_cast<size_t>(name.rend() - last);
    NumberedName numbered{name.substr(0, begin), 0, name.substr(end)};
    const std::string digits = name.substr(begin, end - begin);
    if (absl::SimpleAtoi(digits, &numbered.number) && absl::StrCat(numbered.number) == digits) {
      by_number.push_back(std::move(numbered));
    }
    last = std::find_if(first, name.rend(), IsDigit);
  }
  return by_number;
}

}  // namespace

std::vector<NameGroup> GroupNames(const std::vector<std::string>& names, const std::vector<std::string>& kinds) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::pair<int64_t, size_t>>> alike;
  std::vector<std::vector<NumberedName>> numbered;
  for (size_t i = 0; i < names.size(); ++i) {
    numbered.push_back(Numbered(names[i]));
    for (const NumberedName& by : numbered[i]) alike[{by.before, by.after, kinds[i]}].emplace_back(by.number, i);
  }
  std::vector<NameGroup> groups;
  std::vector<bool> done(names.size(), false);
  for (size_t i = 0; i < names.size(); ++i) {
    if (done[i]) continue;
    NameGroup group{.before = names[i], .numbers = {}, .after = "", .members = {i}};
    for (const NumberedName& by : numbered[i]) {
      auto members = alike[{by.before, by.after, kinds[i]}];
      std::erase_if(members, [&](const auto& member) { return done[member.second]; });
      if (members.size() < kLeastMembers) continue;
      std::sort(members.begin(), members.end());
      group = {.before = by.before, .numbers = {}, .after = by.after, .members = {}};
      for (const auto& [number, member] : members) {
        group.numbers.push_back(number);
        group.members.push_back(member);
        done[member] = true;
      }
      break;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

int64_t StepOf(const std::vector<int64_t>& numbers) {
  if (numbers.size() < 2) return 0;
  const int64_t step = numbers[1] - numbers[0];
  for (size_t i = 2; i < numbers.size(); ++i) {
    if (numbers[i] - numbers[i - 1] != step) return 0;
  }
  return step;
}

std::string TextOf(const NameGroup& group) {
  if (group.numbers.empty()) return group.before;
  const std::vector<int64_t>& numbers = group.numbers;
  std::vector<std::string> parts;
  const int64_t step = StepOf(numbers);
  if (step > 1) parts = {absl::StrCat(numbers.front(), "..", numbers.back(), "..", step)};
  for (size_t i = 0; step <= 1 && i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i > 2) {
      parts.push_back(absl::StrCat(numbers[i], "..", numbers[end - 1]));
      i = end;
    } else {
      parts.push_back(absl::StrCat(numbers[i++]));
    }
  }
  return absl::StrCat(group.before, "{", absl::StrJoin(parts, ","), "}", group.after);
}

}  // namespace onnx_mem
