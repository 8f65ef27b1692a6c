#include "report/parts/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace onnx_mem {

const Cell* FindCell(const Table& table, const Row& row, std::string_view key) {
  const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const Column& candidate) { return candidate.key == key; });
  return column != table.columns.end() ? &row[static_cast<size_t>(column - table.columns.begin())] : nullptr;
}

const Cell& CellAt(const Table& table, const Row& row, std::string_view key) {
  const Cell* cell = FindCell(table, row, key);
  assert(cell != nullptr);
  return *cell;
}

std::vector<size_t> TopRows(const Table& table, int64_t top) {
  std::vector<size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  if (top == 0) return rows;
  const auto rank = [&](size_t row) {
    const int64_t* number = std::get_if<int64_t>(&table.rows[row][table.rank_column]);
    return number ? *number : -1;
  };
  const auto larger = [&](size_t a, size_t b) {
    const int64_t rank_a = rank(a), rank_b = rank(b);
    return rank_a != rank_b ? rank_a > rank_b : a < b;
  };
  const size_t count = std::min(rows.size(), static_cast<size_t>(top));
  std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count), rows.end(), larger);
  rows.resize(count);
  return rows;
}

}  // namespace onnx_mem
