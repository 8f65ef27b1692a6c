#include "report/analyze/run_table.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "report/analyze/answer.h"

namespace onnx_mem {

Table RunTable(const Report& report) {
  Table table{"runs", "Runs", {{"batch", "batch", ColumnKind::kCount}}, {}, 1};
  if (report.runs.empty()) return table;  // of a command that is not about runs
  const std::vector<Limit>& limits = LimitsOf(report);
  const bool training = report.runs.front().training.has_value();
  const bool inference = report.runs.front().inference.has_value();
  const bool has_range = std::all_of(report.runs.begin(), report.runs.end(),
                                     [](const RunSummary& run) { return MainPart(run).device_high_bytes > 0; });
  const auto add = [&](std::string key, std::string title) {
    table.columns.push_back({std::move(key), std::move(title), ColumnKind::kBytes});
  };
  for (const auto& [part, present] : {std::pair("training", training), std::pair("inference", inference)}) {
    if (!present) continue;
    const std::string name(part);
    add(name + "_peak_bytes", name + " alive");
    add(name + "_allocated_peak_bytes", name + " allocated");
    add(name + "_reserved_peak_bytes", name + " reserved");
    add(name + "_device_bytes", absl::StrFormat("%s %s", name, WordsOfDevice(report).whole));
    if (has_range) {
      add(name + "_device_low_bytes", name + " low");
      add(name + "_device_high_bytes", name + " high");
    }
    if (!limits.empty()) table.columns.push_back({name + "_verdict", name + " verdict", ColumnKind::kWord});
  }
  if (training) {
    add("training_first_step_peak_bytes", "step 1 peak");
    add("saved_activation_bytes", "saved activations");
  }
  const std::string trains = TrainsText(report);
  if (!trains.empty()) table.columns.push_back({"trains", "trains"});
  const auto add_row = [&](const RunSummary& run, const std::vector<Limit>& held) -> Row& {
    Row& row = table.rows.emplace_back(Row{run.batch});
    for (RunPart which : {&RunSummary::training, &RunSummary::inference}) {
      const std::optional<PartSummary>& part = run.*which;
      if (!part) continue;
      row.insert(row.end(),
                 {part->peak_bytes, part->allocated_peak_bytes, part->reserved_peak_bytes, part->device_bytes});
      if (has_range) row.insert(row.end(), {part->device_low_bytes, part->device_high_bytes});
      if (const auto verdict = VerdictOf(run, which, held)) row.emplace_back(std::string(NameOf(*verdict)));
    }
    if (training) row.insert(row.end(), {run.training->first_step_peak_bytes, run.saved_activation_bytes});
    if (!trains.empty()) row.emplace_back(trains);
    return row;
  };
  if (limits.size() < 2) {
    for (const RunSummary& run : report.runs) add_row(run, limits);
    return table;
  }
  // A row for each limit.
  table.columns.push_back({"limit", "held against"});
  table.columns.push_back({"limit_bytes", "limit", ColumnKind::kBytes});
  for (const RunSummary& run : report.runs) {
    for (const Limit& limit : limits) {
      Row& row = add_row(RunOn(limit, run), {limit});
      row.emplace_back(NameOfLimit(limit));
      row.emplace_back(limit.bytes);
    }
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
  constexpr auto kParts = std::to_array<std::pair<std::string_view, RunPart>>(
      {{"training", &RunSummary::training}, {"inference", &RunSummary::inference}});
  for (const auto& [name, part] : kParts) {
    if (!(runs.front().*part)) continue;
    table.columns.push_back({absl::StrFormat("%s_device_bytes", name), std::string(name), ColumnKind::kBytes});
    table.columns.push_back({absl::StrFormat("%s_verdict", name), "verdict"});
  }
  for (const RunSummary& run : runs) {
    for (const Limit& limit : limits) {
      Row& row = table.rows.emplace_back(Row{NameOfLimit(limit), limit.bytes});
      if (sweep) row.emplace_back(run.batch);
      for (const auto& [name, part] : kParts) {
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
