#include "report/analyze/fit_table.h"

#include <optional>
#include <string>

#include "report/analyze/answer.h"

namespace onnx_mem {
namespace {

Cell NumberOrUnknown(const std::optional<int64_t>& number) { return number ? Cell(*number) : Cell(); }

std::string YesOrNo(bool yes) { return yes ? "yes" : "no"; }

// The card that the ways are for: the first one that is too small.
const CardFit* SmallCard(const FitPart& fit) {
  for (const CardFit& card : fit.cards) {
    if (card.parts.front().verdict == Verdict::kDoesNotFit) return &card;
  }
  return nullptr;
}

}  // namespace

Table FitTable(const FitPart& fit, const Table* ways, const Table* together) {
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
               {"impossible_from", "impossible from", ColumnKind::kStep}},
              {},
              7};
  table.has_total = false;
  for (const CardFit& card : fit.cards) {
    for (const CardFit::Part& part : card.parts) {
      const BatchEdges batches = part.batches.value_or(BatchEdges());
      const auto batch = [&](const FittingBatch& edge) { return part.batches ? Cell(edge.batch) : Cell(); };
      table.rows.push_back({card.name, card.usable_bytes, fit.asked_batch, part.name, std::string(), std::string(),
                            std::string(), part.need.expected_bytes, YesOrNo(part.verdict != Verdict::kDoesNotFit),
                            batch(batches.expected), NumberOrUnknown(batches.expected.device_bytes),
                            NumberOrUnknown(batches.expected.device_bytes_beyond), Cell(), Cell(),
                            std::string(NameOf(part.verdict)), part.need.low_bytes, part.need.high_bytes,
                            batch(batches.safe), NumberOrUnknown(batches.impossible_from)});
    }
  }
  const CardFit* card = SmallCard(fit);
  if (card == nullptr) return table;
  for (const Row& run : together != nullptr ? together->rows : std::vector<Row>()) {
    table.rows.push_back({card->name, card->usable_bytes, fit.asked_batch, card->parts.front().name,
                          CellAt(*together, run, "change"), CellAt(*together, run, "flags"),
                          CellAt(*together, run, "cost"), CellAt(*together, run, "device_bytes"), YesOrNo(true), Cell(),
                          Cell(), Cell(), CellAt(*together, run, "ns_per_sample"), CellAt(*together, run, "numbers"),
                          Cell(), Cell(), Cell(), Cell(), Cell()});
  }
  if (ways == nullptr) return table;
  for (const Row& way : ways->rows) {
    table.rows.push_back({card->name, card->usable_bytes, fit.asked_batch, card->parts.front().name,
                          CellAt(*ways, way, "change"), CellAt(*ways, way, "flags"), CellAt(*ways, way, "cost"),
                          CellAt(*ways, way, "device_bytes"), YesOrNo(true), CellAt(*ways, way, "largest_batch"),
                          Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell()});
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
