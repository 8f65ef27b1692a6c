#include "analyzer/ops/einsum_equation.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace onnx_mem {
namespace {

constexpr char kDots = EinsumEquation::kDots;

bool IsLabel(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Letters with at most one ellipsis.
bool AreLabels(std::string_view text) {
  return std::count(text.begin(), text.end(), kDots) <= 1 &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLabel(c) || c == kDots; });
}

// The labels that appear once, as ASCII orders them (A before a), behind the ellipsis.
std::string ImplicitOutput(const std::vector<std::string>& operands) {
  std::map<char, int> uses;
  for (const std::string& operand : operands) {
    for (char c : operand) ++uses[c];
  }
  std::string output;
  for (const auto& [c, count] : uses) {
    if (count == 1 || c == kDots) output.push_back(c);
  }
  return output;
}

}  // namespace

std::optional<EinsumEquation> ParseEinsum(std::string_view text) {
  const std::string plain = absl::StrReplaceAll(absl::string_view(text.data(), text.size()), {{" ", ""}});
  // A single dot is no ellipsis.
  std::string marked = absl::StrReplaceAll(plain, {{"...", "\n"}});
  if (marked.find(kDots) != std::string::npos) return std::nullopt;
  std::replace(marked.begin(), marked.end(), '\n', kDots);
  const std::vector<std::string> sides = absl::StrSplit(marked, "->");
  EinsumEquation equation;
  equation.operands = absl::StrSplit(sides[0], ',');
  equation.output = sides.size() > 1 ? sides[1] : ImplicitOutput(equation.operands);
  if (sides.size() > 2 || !AreLabels(equation.output)) return std::nullopt;
  return std::all_of(equation.operands.begin(), equation.operands.end(), AreLabels) ? std::optional(equation)
                                                                                    : std::nullopt;
}

}  // namespace onnx_mem
