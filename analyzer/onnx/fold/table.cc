#include "absl/container/flat_hash_map.h"
#include "analyzer/onnx/fold/fold.h"

namespace onnx_mem::fold {
namespace {

absl::flat_hash_map<std::string_view, const FoldRow*> AllRows() {
  absl::flat_hash_map<std::string_view, const FoldRow*> rows;
  for (absl::Span<const FoldRow> family :
       {ArithmeticRows(), ComparisonRows(), GeneratorRows(), IndexingRows(), LayoutRows(), MathRows(), MatrixRows(),
        PlacementRows(), QuantizeRows(), ReductionRows(), SelectionRows()}) {
    for (const FoldRow& row : family) rows.emplace(row.op, &row);
  }
  return rows;
}

}  // namespace

const FoldRow* FindRow(std::string_view op) {
  static const auto& rows = *new absl::flat_hash_map<std::string_view, const FoldRow*>(AllRows());
  auto found = rows.find(op);
  return found != rows.end() ? found->second : nullptr;
}

}  // namespace onnx_mem::fold
