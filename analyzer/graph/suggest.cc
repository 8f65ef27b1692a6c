#include "analyzer/graph/suggest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

// The letters and digits of `word`, lower case.
std::string Plain(std::string_view word) {
  std::string plain;
  for (char byte : word) {
    if (std::string_view("-_. ").find(byte) != std::string_view::npos) continue;
    plain += absl::ascii_tolower(static_cast<unsigned char>(byte));
  }
  return plain;
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  // Three rows of the classic table suffice: a swap looks back two.
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  const auto same = [&](size_t i, size_t j) { return absl::ascii_tolower(a[i]) == absl::ascii_tolower(b[j]); };
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return std::min(above[b.size()], limit + 1);
}

std::vector<std::string> Suggest(std::string_view word, const std::vector<std::string>& known, size_t count) {
  const size_t limit = word.size() <= 3 ? 1 : 2;
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& name : known) {
    const size_t distance = EditDistance(word, name, limit);
    if (distance <= limit) near.emplace_back(distance, name);
  }
  StableSort(near, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [distance, name] : near) {
    if (names.size() < count && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool SameWord(std::string_view a, std::string_view b) { return Plain(a) == Plain(b); }

bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (!first.empty() && SameWord(first, word)) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> names = Suggest(word, known);
  return names.empty() ? "" : absl::StrCat("did you mean: ", absl::StrJoin(names, ", "));
}

std::string ShellWord(std::string_view word) {
  constexpr std::string_view kPlain = "_-.=/:,+@%";
  const bool plain = std::all_of(word.begin(), word.end(), [&](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return letter || kPlain.find(c) != std::string_view::npos;
  });
  if (plain && !word.empty()) return std::string(word);
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace onnx_mem
