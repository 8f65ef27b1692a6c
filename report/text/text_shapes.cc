// The tensors of one shape as a memory reporter of PyTorch lists them, which is what the users of one compare with:
// "+ 7 * (512,512,3,3)  fp32  66.06 MB  parameter".
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

// "(512,512,3,3)", a vector "(512,)", a scalar "()".
std::string TupleText(const Shape& shape) {
  if (!shape.has_rank) return "(?)";
  if (shape.rank() == 0) return "()";
  return absl::StrCat("(", absl::StrReplaceAll(ToString(shape), {{"x", ","}}), shape.rank() == 1 ? ",)" : ")");
}

// "float32" as "fp32", "bfloat16" as "bf16".
std::string ShortType(const std::string& name) {
  return absl::StrReplaceAll(name, {{"bfloat", "bf"}, {"float", "fp"}});
}

// "parameters" as "parameter": a line is of one thing, counted.
std::string Singular(const std::string& words) { return std::string(absl::StripSuffix(words, "s")); }

int64_t BytesOf(const Table& table, const Row& row) { return std::get<int64_t>(CellAt(table, row, "bytes")); }

}  // namespace

std::string ShapesText(const Table& table, const Report& report, const Screen& screen) {
  int64_t total = table.omitted_bytes, shown_bytes = 0;
  for (const Row& row : table.rows) total += BytesOf(table, row);
  const ByteUnit unit = ColumnUnit(total, screen.units);
  const std::vector<size_t> shown = TopRows(table, report.top);
  TextTable lines;
  lines.columns = {{}, {.right = true}, {}, {}, {}, {.right = true}, {}};
  for (size_t index : shown) {
    const Row& row = table.rows[index];
    shown_bytes += BytesOf(table, row);
    lines.rows.push_back({"+", absl::StrFormat("%d", std::get<int64_t>(CellAt(table, row, "count"))), "*",
                          TupleText(std::get<Shape>(CellAt(table, row, "shape"))),
                          ShortType(std::get<std::string>(CellAt(table, row, "dtype"))),
                          SizeIn(BytesOf(table, row), unit),
                          Singular(CellText(CellAt(table, row, "category"), ColumnKind::kWord, unit))});
  }
  const auto others = static_cast<int64_t>(table.rows.size() - shown.size()) + table.omitted_rows;
  if (others > 0) {
    lines.rows.push_back({"+", "", "", Others(others), "", SizeIn(total - shown_bytes, unit), ""});
  }
  lines.rows.push_back({"=", "", "", "total", "", SizeIn(total, unit), ""});
  std::string text = absl::StrFormat("%s%s\n", std::string(kIndent, ' '), Painted(table.title, Paint::kBold, screen));
  text += AlignedText(std::move(lines), 2 * kIndent, 1, screen);
  return text;
}

}  // namespace onnx_mem
