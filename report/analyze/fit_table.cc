#include "report/analyze/fit_table.h"

#include <optional>
#include <string>

#include "report/analyze/answer.h"

namespace onnx_mem {
namespace {

std::string YesOrNo(bool yes) { return yes ? "yes" : "no"; }

// A row for each of `ways`, which make the batch fit `card`; what they do not say is left open.
void AddWays(const CardFit& card, int64_t batch, const Table& ways, Table& table) {
  for (const Row& way : ways.rows) {
    Row& row = table.rows.emplace_back(Row{card.name, card.usable_bytes, batch, card.parts.front().name});
    for (size_t c = row.size(); c < table.columns.size(); ++c) {
      const Cell* cell = FindCell(ways, way, table.columns[c].key);
      row.push_back(cell != nullptr ? *cell : table.columns[c].key == "fits" ? Cell(YesOrNo(true)) : Cell());
    }
  }
}

Table WithoutRows() {
  Table table{"fit",
              "Does it fit",
              {{"gpu", "card"},
               {"usable_bytes", "usable", ColumnKind::kBytes},
               {"batch", "batch", ColumnKind::kStep},
               {"part", "part", ColumnKind::kWord},
               {"change", "change"},
               {"flags", "flags"},
               {"cost", "costs"},
               {"device_bytes", "on the GPU", ColumnKind::kBytes},
               {"fits", "fits", ColumnKind::kWord},
               {"largest_batch", "largest batch", ColumnKind::kStep},
               {"largest_batch_device_bytes", "at the largest batch", ColumnKind::kBytes},
               {"next_batch_device_bytes", "one more", ColumnKind::kBytes},
               {"ns_per_sample", "a sample", ColumnKind::kTime},
               {"numbers", "numbers", ColumnKind::kWord},
               {"verdict", "verdict", ColumnKind::kWord},
               {"device_low_bytes", "low", ColumnKind::kBytes},
               {"device_high_bytes", "high", ColumnKind::kBytes},
               {"safe_batch", "safe batch", ColumnKind::kStep},
               {"impossible_from", "impossible from", ColumnKind::kStep},
               {"over", "over", ColumnKind::kWord},
               {"size", "size", ColumnKind::kStep}},
              {},
              7};
  table.has_total = false;
  return table;
}

}  // namespace

Table FitTable(const FitPart& fit, const Table* ways, const Table* together) {
  Table table = WithoutRows();
  for (const CardFit& card : fit.cards) {
    for (const CardFit::Part& part : card.parts) {
      const BatchFigures batches = BatchFiguresOf(part);
      table.rows.push_back({card.name,
                            card.usable_bytes,
                            fit.batch,
                            part.name,
                            std::string(),
                            std::string(),
                            std::string(),
                            part.need.expected_bytes,
                            YesOrNo(part.verdict != Verdict::kDoesNotFit),
                            CellOf(batches.largest_batch),
                            CellOf(batches.largest_batch_device_bytes),
                            CellOf(batches.next_batch_device_bytes),
                            Cell(),
                            Cell(),
                            std::string(NameOf(part.verdict)),
                            part.need.low_bytes,
                            part.need.high_bytes,
                            CellOf(batches.safe_batch),
                            CellOf(batches.impossible_from),
                            fit.over,
                            fit.size});
    }
  }
  for (const Table* found : {together, ways}) {
    if (fit.ways_card && found != nullptr) AddWays(fit.cards[*fit.ways_card], fit.batch, *found, table);
  }
  return table;
}

Table CardsTable(const FitPart& fit) {
  Table table{"cards",
              "Cards",
              {{"gpu", "card"},
               {"usable_bytes", "usable", ColumnKind::kBytes},
               {"part", "part", ColumnKind::kWord},
               {"device_bytes", "needs", ColumnKind::kBytes},
               {"verdict", "verdict"},
               {"safe_batch", "safe batch"},
               {"largest_batch", "expected to fit"},
               {"impossible_from", "impossible from"}},
              {},
              3};
  table.has_total = false;
  for (const CardFit& card : fit.cards) {
    for (const CardFit::Part& part : card.parts) {
      table.rows.push_back({card.name.empty() ? Cell() : Cell(card.name), card.usable_bytes, part.name,
                            part.need.expected_bytes, std::string(WordsOf(part.verdict)),
                            EdgeText(part.batches, &BatchEdges::safe), EdgeText(part.batches, &BatchEdges::expected),
                            ImpossibleText(part.batches)});
    }
  }
  return table;
}

}  // namespace onnx_mem
