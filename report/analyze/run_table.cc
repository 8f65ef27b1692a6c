#include "report/analyze/run_table.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"

namespace onnx_mem {

namespace {

// A column of runs, and what stands in it: of a run that is held against `limits`.
struct RunColumn {
  Column column;
  std::function<Cell(const RunSummary& run, const std::vector<Limit>& limits)> cell;
};

class RunColumns {
 public:
  explicit RunColumns(const Report& report) : report_(report) {
    const std::vector<RunSummary>& runs = report.runs;
    has_range_ = std::all_of(runs.begin(), runs.end(),
                             [](const RunSummary& run) { return MainPart(run).device_high_bytes > 0; });
    AddOf("batch", "batch", &RunSummary::batch, ColumnKind::kCount);
    for (const PartOfRun& which : kPartsOfRun) {
      if (runs.front().*which.part) AddPart(which);
    }
    if (runs.front().training) AddTrainingAlone();
    if (const std::string trains = TrainsText(report); !trains.empty()) {
      columns_.push_back({{"trains", "trains"}, [trains](const auto&, const auto&) { return Cell(trains); }});
    }
  }

  void AddLimit() {
    columns_.push_back(
        {{"limit", "held against"}, [](const auto&, const auto& limits) { return Cell(NameOfLimit(limits.front())); }});
    columns_.push_back({{"limit_bytes", "limit", ColumnKind::kBytes},
                        [](const auto&, const auto& limits) { return Cell(limits.front().bytes); }});
  }
  const std::vector<RunColumn>& columns() const { return columns_; }

 private:
  template <class Struct>
  void AddOf(std::string_view key, std::string_view title, int64_t Struct::*value,
             ColumnKind kind = ColumnKind::kBytes) {
    columns_.push_back({{std::string(key), std::string(title), kind},
                        [value](const RunSummary& run, const auto&) { return Cell(run.*value); }});
  }

  void AddOfPart(const PartOfRun& which, std::string_view key, std::string_view title, int64_t PeakFigures::*value) {
    columns_.push_back(
        {{absl::StrFormat("%s_%s", which.name, key), std::string(title), ColumnKind::kBytes},
         [part = which.part, value](const RunSummary& run, const auto&) { return Cell((*(run.*part)).*value); }});
  }

  void AddPart(const PartOfRun& which) {
    const auto title = [&](std::string_view word) { return absl::StrFormat("%s %s", which.name, word); };
    for (const PeakRow& row : kPeakRows) {
      if (row.column.empty() || row.of != FigureOf::kBoth) continue;  // what training alone has comes last
      if (!row.is_range()) {
        const bool device = row.value == &PeakFigures::device_bytes;
        AddOfPart(which, row.key, title(device ? WordsOfDevice(report_).whole : row.column), row.value);
      } else if (has_range_) {
        AddOfPart(which, row.low_key, title(row.column), row.value);
        AddOfPart(which, row.high_key, title(row.title), row.high);
      }
    }
    if (LimitsOf(report_).empty()) return;
    columns_.push_back({{absl::StrFormat("%s_verdict", which.name), title("verdict"), ColumnKind::kWord},
                        [part = which.part](const RunSummary& run, const std::vector<Limit>& limits) {
                          return Cell(std::string(NameOf(*VerdictOf(run, part, limits))));
                        }});
  }

  void AddTrainingAlone() {
    for (const PeakRow& row : kPeakRows) {
      if (row.of != FigureOf::kTraining || row.column.empty()) continue;
      AddOfPart(kPartsOfRun.front(), row.key, row.column, row.value);
    }
    for (const PassRow& row : kPassRows) {
      if (!row.column.empty()) AddOf(row.key, row.column, row.value);
    }
  }

  const Report& report_;
  bool has_range_ = false;
  std::vector<RunColumn> columns_;
};

}  // namespace

Table RunTable(const Report& report) {
  Table table{"runs", "Runs", {}, {}, 1};
  if (report.runs.empty()) {  // of a command that is not about runs
    table.columns = {{"batch", "batch", ColumnKind::kCount}};
    return table;
  }
  const std::vector<Limit>& limits = LimitsOf(report);
  RunColumns columns(report);
  if (limits.size() > 1) columns.AddLimit();
  for (const RunColumn& column : columns.columns()) table.columns.push_back(column.column);
  const auto add = [&](const RunSummary& run, const std::vector<Limit>& held) {
    Row& row = table.rows.emplace_back();
    for (const RunColumn& column : columns.columns()) row.push_back(column.cell(run, held));
  };
  for (const RunSummary& run : report.runs) {
    if (limits.size() < 2) add(run, limits);
    for (size_t i = 0; limits.size() > 1 && i < limits.size(); ++i) add(RunOn(limits[i], run), {limits[i]});
  }
  return table;
}

std::string NameOfLimit(const Limit& limit) {
  if (limit.kind == Limit::Kind::kBudget) return "budget";
  return limit.name.empty() ? "GPU memory" : limit.name;
}

std::string OneWord(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '-');
  return name.empty() ? "-" : name;
}

Table GpusTable(const std::vector<RunSummary>& runs, const std::vector<Limit>& limits) {
  Table table{"gpus", "Does it fit", {{"name", ""}, {"usable_bytes", "usable", ColumnKind::kBytes}}, {}, 1};
  table.has_total = false;
  if (runs.empty()) return table;
  const bool sweep = runs.size() > 1;
  if (sweep) table.columns.push_back({"batch", "batch", ColumnKind::kStep});
  for (const auto& [name, of, part] : kPartsOfRun) {
    if (!(runs.front().*part)) continue;
    table.columns.push_back({absl::StrFormat("%s_device_bytes", name), std::string(name), ColumnKind::kBytes});
    table.columns.push_back({absl::StrFormat("%s_verdict", name), "verdict"});
  }
  for (const RunSummary& run : runs) {
    for (const Limit& limit : limits) {
      Row& row = table.rows.emplace_back(Row{NameOfLimit(limit), limit.bytes});
      if (sweep) row.emplace_back(run.batch);
      for (const auto& [name, of, part] : kPartsOfRun) {
        if (!(run.*part)) continue;
        const Need need = NeedOn(limit, run, part);
        row.emplace_back(need.expected_bytes);
        row.emplace_back(std::string(WordsOf(VerdictOf(need, limit.bytes))));
      }
    }
  }
  return table;
}

}  // namespace onnx_mem
