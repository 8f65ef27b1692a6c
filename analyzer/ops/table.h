// The rows of ops.inc where a constant expression needs them: sorted by name, each once.
#ifndef ONNX_MEM_ANALYZER_OPS_TABLE_H_
#define ONNX_MEM_ANALYZER_OPS_TABLE_H_

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/ops/ops.h"

namespace onnx_mem {

inline constexpr auto kOpFacts = [] {
  using enum OpFamily;
  using namespace op_trait;
#define OP(name, family, traits) OpFacts{name, family, traits},
  // std::array deduces its size by a fold expression, and Clang takes 256 operands of one.
  const OpFacts listed[] = {
#include "analyzer/ops/ops.inc"
  };
#undef OP
  auto rows = std::to_array(listed);
  std::sort(rows.begin(), rows.end(), [](const OpFacts& a, const OpFacts& b) { return a.name < b.name; });
  return rows;
}();
static_assert(std::adjacent_find(kOpFacts.begin(), kOpFacts.end(), [](const OpFacts& a, const OpFacts& b) {
                return a.name == b.name;
              }) == kOpFacts.end());

inline constexpr OpFacts kNoOpFacts;

constexpr const OpFacts& FindOpFacts(std::string_view name) {
  const auto* row = std::lower_bound(kOpFacts.begin(), kOpFacts.end(), name,
                                     [](const OpFacts& facts, std::string_view key) { return facts.name < key; });
  return row != kOpFacts.end() && row->name == name ? *row : kNoOpFacts;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_OPS_TABLE_H_
