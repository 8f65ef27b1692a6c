#include <algorithm>
#include <array>

#include "report/explain/explain_part.h"

namespace onnx_mem {
namespace {

std::string Named(Owner owner) { return std::string(NameOf(owner)); }
Cell TextOrNothing(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

Table FindingsOf(const Explanation& explanation) {
  Table table{"findings",
              "What to do first",
              {{"code", "finding"},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"blocks", "blocks", ColumnKind::kCount, Show::kData},
               {"rounds", "rounds", ColumnKind::kStep, Show::kData},
               {"line", "line"},
               {"function", "function"},
               {"inner_line", "mostly made at", ColumnKind::kText, Show::kData},
               {"inner_function", "in", ColumnKind::kText, Show::kData},
               {"what", "what", ColumnKind::kText, Show::kData},
               {"known_by", "known by", ColumnKind::kText, Show::kData},
               {"remedy", "what to do"}},
              {},
              1};
  table.has_total = false;
  for (const ExplainedFinding& finding : explanation.findings) {
    const CauseRow& row = RowOf(finding.kind);
    table.rows.push_back({std::string(row.code), finding.bytes, finding.blocks, finding.rounds,
                          TextOrNothing(finding.line), TextOrNothing(finding.function),
                          TextOrNothing(finding.inner_line), TextOrNothing(finding.inner_function),
                          std::string(row.what), std::string(row.known_by), std::string(row.remedy)});
  }
  return table;
}

Table CategoriesOf(const Explanation& explanation) {
  Table table{"categories",
              "Who holds it",
              {{"category", "category", ColumnKind::kWord},
               {"bytes", "bytes", ColumnKind::kBytes},
               {"blocks", "blocks", ColumnKind::kCount}},
              {},
              1};
  std::array<int64_t, kNumOwners> bytes{}, blocks{};
  for (const OwnedBlock& block : explanation.blocks) {
    bytes[static_cast<size_t>(block.owner)] += block.bytes;
    ++blocks[static_cast<size_t>(block.owner)];
  }
  for (size_t i = 0; i < kNumOwners; ++i) {
    if (blocks[i] > 0) table.rows.push_back({Named(static_cast<Owner>(i)), bytes[i], blocks[i]});
  }
  return table;
}

Table LinesTable(std::string key, std::string title, const std::vector<OwnedLine>& lines) {
  Table table{std::move(key),
              std::move(title),
              {{"line", "line"},
               {"function", "function"},
               {"category", "category", ColumnKind::kWord},
               {"blocks", "blocks", ColumnKind::kCount},
               {"largest_bytes", "largest", ColumnKind::kBytes, Show::kData},
               {"bytes", "bytes", ColumnKind::kBytes}},
              {},
              5};
  for (const OwnedLine& line : lines) {
    table.rows.push_back({line.line.empty() ? std::string("(no stack)") : line.line, TextOrNothing(line.function),
                          Named(line.owner), line.blocks, line.largest_bytes, line.bytes});
  }
  return table;
}

Table BlocksOf(const Explanation& explanation) {
  Table table{"blocks",
              "Blocks",
              {{"bytes", "bytes", ColumnKind::kBytes},
               {"category", "category", ColumnKind::kWord},
               {"line", "line"},
               {"function", "function"},
               {"event", "event", ColumnKind::kStep}},
              {},
              0};
  for (const OwnedBlock& block : explanation.blocks) {
    table.rows.push_back({block.bytes, Named(block.owner), TextOrNothing(block.line), TextOrNothing(block.function),
                          block.event < 0 ? Cell() : Cell(block.event)});
  }
  return table;
}

}  // namespace

std::vector<Table> TablesOf(const Explanation& explanation) {
  return {FindingsOf(explanation), CategoriesOf(explanation), LinesTable("lines", "By line", explanation.lines),
          BlocksOf(explanation)};
}

std::vector<Table> TablesOf(const SnapshotMatch& match, const Explanation& explanation) {
  Table names{"names",
              "By name: blocks that have a predicted tensor's size",
              {{"tensor", "tensor"},
               {"what", "what", ColumnKind::kWord},
               {"module", "module", ColumnKind::kText, Show::kData},
               {"line", "made at"},
               {"bytes", "bytes", ColumnKind::kBytes}},
              {},
              4};
  for (const NamedBlock& named : match.named) {
    const OwnedBlock& block = explanation.blocks[named.block];
    names.rows.push_back({named.name, std::string(NameOf(named.category)), TextOrNothing(named.module),
                          TextOrNothing(block.line), block.bytes});
  }
  return {std::move(names), LinesTable("unexplained", "Unexplained by the model", match.unexplained)};
}

}  // namespace onnx_mem
