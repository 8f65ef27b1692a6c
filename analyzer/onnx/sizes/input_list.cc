#include "analyzer/onnx/sizes/input_list.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {
namespace {

using Parts = std::vector<std::string>;

// One line of the list: a name in pieces, some of which stand for several, and what is said behind it.
struct ListedInput {
  Parts parts;
  std::string type;
  bool numbered = false;  // a piece of the name is a range of numbers
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSeparator(char c) { return c == '.' || c == '_' || c == '/' || c == ':'; }

// "past_key_values.12.key" -> past _ key _ values . 12 . key
Parts PartsOf(const std::string& name) {
  const auto kind = [](char c) { return IsDigit(c) ? 0 : IsSeparator(c) ? 1 : 2; };
  Parts parts;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || kind(name[i]) != kind(name[i - 1])) parts.emplace_back();
    parts.back().push_back(name[i]);
  }
  return parts;
}

std::optional<int64_t> NumberIn(const std::string& part) {
  int64_t number = 0;
  const bool plain = !part.empty() && std::all_of(part.begin(), part.end(), IsDigit) &&
                     (part.size() == 1 || part[0] != '0') && absl::SimpleAtoi(part, &number);
  return plain ? std::optional(number) : std::nullopt;
}

// "{0..31}" of the numbers 0 to 31 in any order; "" if one is missing.
std::string RangeText(const Parts& parts) {
  std::vector<int64_t> numbers;
  for (const std::string& part : parts) {
    const std::optional<int64_t> number = NumberIn(part);
    if (!number) return "";
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[i - 1] + 1) return "";
  }
  return absl::StrCat("{", numbers.front(), "..", numbers.back(), "}");
}

bool IsWord(const std::string& part) { return !IsSeparator(part[0]) && !IsDigit(part[0]) && part[0] != '{'; }

// Lines that differ in piece `at` alone become one, where `text` says how the pieces are written together.
template <class Differs, class Text>
void FoldPart(size_t at, Differs may_differ, Text text, std::vector<ListedInput>& lines) {
  std::map<std::string, std::vector<size_t>> groups;  // by all that has to be equal
  for (size_t i = 0; i < lines.size(); ++i) {
    if (at >= lines[i].parts.size() || !may_differ(lines[i], lines[i].parts[at])) continue;
    Parts rest = lines[i].parts;
    rest[at] = "\1";
    groups[absl::StrCat(absl::StrJoin(rest, std::string(1, '\2')), "\3", lines[i].type)].push_back(i);
  }
  std::vector<bool> gone(lines.size());
  for (const auto& [key, members] : groups) {
    if (members.size() < 2) continue;
    Parts together;
    for (size_t i : members) together.push_back(lines[i].parts[at]);
    std::string joined = text(together);
    if (joined.empty()) continue;
    ListedInput& kept = lines[members.front()];
    kept.numbered |= NumberIn(kept.parts[at]).has_value();
    kept.parts[at] = std::move(joined);
    for (size_t i = 1; i < members.size(); ++i) gone[members[i]] = true;
  }
  size_t i = 0;
  std::erase_if(lines, [&](const ListedInput&) { return gone[i++]; });
}

// The first of them, and how many more there are: a file may name thousands.
std::string JoinFirst(std::vector<std::string> words, absl::string_view separator) {
  constexpr size_t kMost = 16;
  if (words.size() > kMost) {
    const std::string rest = absl::StrCat("... (", words.size() - kMost, " more)");
    words.resize(kMost);
    words.push_back(rest);
  }
  return absl::StrJoin(words, separator);
}

void Fold(std::vector<ListedInput>& lines) {
  size_t longest = 0;
  for (const ListedInput& line : lines) longest = std::max(longest, line.parts.size());
  constexpr size_t kMostParts = 32;
  longest = std::min(longest, kMostParts);
  for (size_t at = 0; at < longest; ++at) {
    FoldPart(
        at, [](const ListedInput&, const std::string& part) { return NumberIn(part).has_value(); }, RangeText, lines);
  }
  for (size_t at = 0; at < longest; ++at) {
    FoldPart(
        at, [](const ListedInput& line, const std::string& part) { return line.numbered && IsWord(part); },
        [](const Parts& words) { return absl::StrCat("{", JoinFirst(words, ","), "}"); }, lines);
  }
}

std::string TypeText(const DeclaredInput& input) {
  const std::string dtype(NameOf(input.dtype));
  if (!input.has_rank) return dtype + " (no shape)";
  std::vector<std::string> dims;
  for (const DeclaredDim& dim : input.dims) {
    dims.push_back(dim.size ? absl::StrCat(*dim.size) : dim.symbol.empty() ? "?" : dim.symbol);
  }
  return absl::StrCat(dtype, " [", JoinFirst(std::move(dims), ", "), "]");
}

}  // namespace

std::string TextOf(const DeclaredInput& input) { return absl::StrCat(input.name, "  ", TypeText(input)); }

std::string WhatIsOpen(const std::vector<DeclaredInput>& inputs, const std::vector<OpenDim>& open) {
  const auto name = [](const OpenDim& dim) { return !dim.dim ? "all" : dim.symbol.empty() ? "?" : dim.symbol; };
  const bool of_one = std::all_of(open.begin(), open.end(), [&](const OpenDim& d) { return d.input == open[0].input; });
  std::vector<std::string> words;
  for (const OpenDim& dim : open) {
    words.push_back(of_one ? name(dim) : absl::StrCat(name(dim), " of '", inputs[dim.input].name, "'"));
  }
  words.erase(std::unique(words.begin(), words.end()), words.end());
  if (of_one) {
    return absl::StrCat("input '", inputs[open[0].input].name, "' has unknown dimensions: ", JoinFirst(words, ", "));
  }
  return absl::StrCat("dimensions without a size: ", JoinFirst(std::move(words), ", "));
}

std::string InputList(const std::vector<DeclaredInput>& inputs) {
  std::vector<ListedInput> lines;
  for (const DeclaredInput& input : inputs) {
    lines.push_back({.parts = PartsOf(input.name), .type = TypeText(input)});
  }
  constexpr size_t kMostFolded = 4096;
  if (lines.size() <= kMostFolded) Fold(lines);
  std::vector<std::string> texts;
  for (const ListedInput& line : lines) texts.push_back(absl::StrCat(absl::StrJoin(line.parts, ""), "  ", line.type));
  return JoinFirst(std::move(texts), "      ");
}

}  // namespace onnx_mem
