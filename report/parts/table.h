// A titled table with typed cells: what csv, md, json arrays and the screen's lists are all made from.
#ifndef ONNX_MEM_REPORT_PARTS_TABLE_H_
#define ONNX_MEM_REPORT_PARTS_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/graph/shape.h"

namespace onnx_mem {

inline constexpr int64_t kDefaultTop = 8;  // rows of a list that is shown where no --top says how many

// What a row of a list stands for.
enum class By { kNone, kLayer, kOp, kTensor, kShape, kCategory, kStep };

enum class ColumnKind : uint8_t {
  kText,
  kWord,  // one of a few names: "saved_activations", on the screen "saved activations"
  kCount,
  kWork,  // a count that is large: FLOPs, on the screen "4.09 G"
  kBytes,
  kTime,     // nanoseconds, on the screen "1.25 ms"
  kStep,     // a number that is not to be summed
  kIndex,    // a position in a list, from 0; on the screen counted from 1
  kDecimal,  // a number with a unit of its own, which the title names
  kShare,    // a fraction; on the screen percents with their sign
  kShape,
};

// Aligned to the right.
inline bool IsNumber(ColumnKind kind) {
  return kind != ColumnKind::kText && kind != ColumnKind::kWord && kind != ColumnKind::kShape;
}

enum class Show : uint8_t {
  kAlways,
  kDetail,  // on the screen only with -v, under its row
  kData,    // only in JSON and CSV
};

struct Column {
  std::string key;    // name in JSON and CSV: "peak_bytes"
  std::string title;  // on the screen: "at the peak"
  ColumnKind kind = ColumnKind::kText;
  Show show = Show::kAlways;
};

// A string for kText and kWord, a double for kDecimal and kShare, a Shape for kShape, else an int64_t; monostate is
// "not known".
using CommandWords = std::vector<std::string>;  // of a command line, in JSON an array
using Cell = std::variant<std::monostate, std::string, int64_t, double, Shape, CommandWords>;
using Row = std::vector<Cell>;

struct Table {
  std::string key;    // in JSON: "layers"
  std::string title;  // on the screen
  std::vector<Column> columns;
  std::vector<Row> rows;      // in their natural order: a file's, or largest first
  size_t rank_column = 0;     // the numbers by which a list of the largest is picked
  int64_t omitted_rows = 0;   // smaller ones that were not even made
  int64_t omitted_bytes = 0;  // their sum in rank_column
  bool has_total = true;      // its sizes and counts are parts of one whole
};

// The cell of `row` in the column with this key, which there must be; nullptr where there is none.
const Cell& CellAt(const Table& table, const Row& row, std::string_view key);
const Cell* FindCell(const Table& table, const Row& row, std::string_view key);

template <class T>
Cell CellOf(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

// Indices of the rows to show: all in natural order for top = 0, else the `top` largest by rank_column, largest first
// (equal ones in natural order).
std::vector<size_t> TopRows(const Table& table, int64_t top);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_TABLE_H_
