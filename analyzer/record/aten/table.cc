#include "analyzer/record/aten/table.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/ops/ops.h"
#include "analyzer/record/aten/readers.h"

namespace onnx_mem::record {
namespace {

constexpr auto kFactories = std::to_array<std::string_view>({"arange",
                                                             "arange.start",
                                                             "arange.start_step",
                                                             "empty.memory_format",
                                                             "empty_strided",
                                                             "eye",
                                                             "eye.m",
                                                             "full",
                                                             "linspace",
                                                             "logspace",
                                                             "ones",
                                                             "rand",
                                                             "randint",
                                                             "randint.low",
                                                             "randn",
                                                             "randperm",
                                                             "scalar_tensor",
                                                             "tril_indices",
                                                             "triu_indices",
                                                             "zeros",
                                                             "_efficientzerotensor",
                                                             "multinomial",
                                                             "normal.float_float",
                                                             "hann_window"});
constexpr auto kFactoriesLike = std::to_array<std::string_view>(
    {"bernoulli.p", "empty_like", "full_like", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros",
     "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"});

// What writes numbers over a tensor.
constexpr auto kOverwrites = std::to_array<std::string_view>(
    {"bernoulli.float", "bernoulli.Tensor", "cauchy", "exponential", "fill.Scalar", "fill.Tensor", "geometric",
     "log_normal", "normal", "random", "random.from", "random.to", "uniform", "zero"});

constexpr auto kCompareWithNumber =
    std::to_array<std::string_view>({"eq.Scalar", "ge.Scalar", "gt.Scalar", "le.Scalar", "lt.Scalar", "ne.Scalar"});
constexpr auto kCompareWithTensor =
    std::to_array<std::string_view>({"eq.Tensor", "ge.Tensor", "gt.Tensor", "le.Tensor", "lt.Tensor", "ne.Tensor"});

constexpr auto kRows = std::to_array<AtenRow>({
#define ATEN(aten, op, reader) {aten, op, reader},
#include "analyzer/record/aten/rows.inc"
#undef ATEN
});

std::vector<AtenRow> BuildRows() {
  std::vector<AtenRow> rows(kRows.begin(), kRows.end());
  for (const OpFacts& op : AllOpFacts()) {
    if (IsAtenUnary(op)) rows.push_back({op.name, op.name, One});
  }
  for (std::string_view name : kFactories) rows.push_back({name, "full", Factory});
  for (std::string_view name : kFactoriesLike) rows.push_back({name, "full", FactoryLike});
  for (std::string_view name : kOverwrites) rows.push_back({name, "overwrite", One});
  for (std::string_view name : kCompareWithNumber) rows.push_back({name, "compare", One});
  for (std::string_view name : kCompareWithTensor) rows.push_back({name, "compare", Two});
  return rows;
}

using RowsByName = absl::flat_hash_map<std::string, const AtenRow*>;

RowsByName IndexRows() {
  RowsByName index;
  for (const AtenRow& row : AllAtenRows()) index.emplace(row.aten, &row);
  return index;
}

// "add_.Tensor" -> "add.Tensor".
std::string OutOfPlace(std::string_view name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const bool in_place = dot > 1 && name[dot - 1] == '_' && name[0] != '_';
  std::string plain(name.substr(0, in_place ? dot - 1 : dot));
  plain.append(name.substr(dot));
  return plain;
}

}  // namespace

const std::vector<AtenRow>& AllAtenRows() {
  static const std::vector<AtenRow>& rows = *new std::vector<AtenRow>(BuildRows());
  return rows;
}

const AtenRow* FindAten(std::string_view name) {
  static const RowsByName& index = *new RowsByName(IndexRows());
  const auto own = index.find(std::string(name));  // in place it may have another overload than out of place
  const auto found = own == index.end() ? index.find(OutOfPlace(name)) : own;
  return found == index.end() ? nullptr : found->second;
}

const AtenRow* FindAten(const Line& line) {
  static constexpr AtenRow kIntoOut = {"out", "copy", IntoOut};
  const bool has_out = std::any_of(line.options.begin(), line.options.end(), [](const auto& option) {
    return option.first == "out" && option.second.kind == Argument::Kind::kValue;
  });
  return has_out && line.made == std::vector<bool>{false} ? &kIntoOut : FindAten(line.name);
}

}  // namespace onnx_mem::record
