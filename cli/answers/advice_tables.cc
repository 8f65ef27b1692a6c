#include "cli/answers/advice_tables.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"

namespace onnx_mem {
namespace {

// "+5.5 % FLOPs; BatchNorm sees 32", "+7.6 % time, +4.1 % FLOPs", "none".
std::string CostOf(const Saving& saving) {
  std::string cost;
  if (saving.change.extra_time) cost = absl::StrFormat("+%.1f %% time", 100 * *saving.change.extra_time);
  if (saving.extra_compute > 0) {
    absl::StrAppendFormat(&cost, "%s+%.1f %% FLOPs", cost.empty() ? "" : ", ", 100 * saving.extra_compute);
  }
  if (!saving.change.cost.empty()) cost += (cost.empty() ? "" : "; ") + saving.change.cost;
  return cost.empty() ? "none" : cost;
}

Table EmptyTable(std::string key, std::string title) {
  Table table{std::move(key),
              std::move(title),
              {{"change", "change"},
               {"device_bytes", "on the GPU", ColumnKind::kBytes},
               {"saves_bytes", "saves", ColumnKind::kBytes, Show::kData},
               {"peak_bytes", "peak", ColumnKind::kBytes, Show::kData},
               {"extra_compute", "extra compute", ColumnKind::kDecimal, Show::kData},
               {"price", "paid with", ColumnKind::kText, Show::kData},
               {"flags", "flags", ColumnKind::kText},
               {"cost", "costs", ColumnKind::kText}},
              {},
              2};
  table.has_total = false;
  return table;
}

Row RowOf(const Saving& saving) {
  return {saving.change.change, saving.footprint.device_bytes,
          saving.saves_bytes,   saving.footprint.peak_bytes,
          saving.extra_compute, std::string(NameOf(saving.change.price)),
          saving.change.flags,  CostOf(saving)};
}

}  // namespace

Table SavingsTable(const std::vector<Saving>& savings) {
  Table table = EmptyTable("savings", "What would save most");
  for (const Saving& saving : savings) table.rows.push_back(RowOf(saving));
  return table;
}

Table JointTable(const std::vector<JointRun>& runs, std::string_view rates, int64_t samples) {
  Table table{"together",
              absl::StrFormat("Chosen together for %d samples a step, fastest first (estimated on %s)", samples, rates),
              {{"change", "change"},
               {"device_bytes", "on the GPU", ColumnKind::kBytes},
               {"peak_bytes", "peak", ColumnKind::kBytes, Show::kData},
               {"ns_per_sample", "a sample", ColumnKind::kTime},
               {"numbers", "numbers", ColumnKind::kWord},
               {"batch_norm_sees", "BatchNorm sees", ColumnKind::kStep, Show::kData},
               {"price", "paid with", ColumnKind::kText, Show::kData},
               {"flags", "flags", ColumnKind::kText, Show::kDetail},
               {"cost", "costs", ColumnKind::kText, Show::kDetail}},
              {},
              1};
  table.has_total = false;
  for (const JointRun& run : runs) {
    table.rows.push_back({run.change.change.empty() ? "as it is" : run.change.change, run.device_bytes, run.peak_bytes,
                          run.ns_per_sample, std::string(run.same_numbers ? "same" : "other"),
                          run.batch_norm_sees > 0 ? Cell(run.batch_norm_sees) : Cell(),
                          std::string(NameOf(run.change.price)), run.change.flags, run.change.cost});
  }
  return table;
}

Table WaysTable(const std::vector<FitWay>& ways, const WaysFor& about) {
  const std::string ranks = about.ranks ? absl::StrFormat(" with %d ranks", *about.ranks) : "";
  Table table = EmptyTable("ways", absl::StrFormat("Ways to make it fit%s%s%s, cheapest first",
                                                   about.card.empty() ? "" : " ", about.card, ranks));
  table.columns.insert(table.columns.begin() + 2, {"largest_batch", "largest batch", ColumnKind::kStep});
  if (about.spread) {
    table.columns.push_back({"extra_time", "extra time", ColumnKind::kDecimal, Show::kData});
    table.columns.push_back({"command", "printed by", ColumnKind::kText, Show::kData});
  }
  for (const FitWay& way : ways) {
    const Proposal& change = way.saving.change;
    Row row = RowOf(way.saving);
    row.insert(row.begin() + 2, way.largest_batch ? Cell(*way.largest_batch) : Cell());
    if (about.spread) {
      row.push_back(change.extra_time ? Cell(*change.extra_time) : Cell());
      row.push_back(change.planned_for_ranks && !about.plan_command.empty() ? Cell(about.plan_command) : Cell());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace onnx_mem
