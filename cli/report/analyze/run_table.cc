#include "cli/report/analyze/run_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "cli/report/analyze/answer.h"

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
      add(name + "_device_low_bytes", name + " certain");
      add(name + "_device_high_bytes", name + " at worst");
    }
    if (!limits.empty()) table.columns.push_back({name + "_verdict", name + " verdict", ColumnKind::kWord});
  }
  if (training) {
    add("training_first_step_peak_bytes", "step 1 peak");
    add("saved_activation_bytes", "saved activations");
  }
  const std::string trains = TrainsText(report);
  if (!trains.empty()) table.columns.push_back({"trains", "trains"});
  for (const RunSummary& run : report.runs) {
    Row& row = table.rows.emplace_back(Row{run.batch});
    for (const std::optional<PartSummary>* part : {&run.training, &run.inference}) {
      if (!*part) continue;
      row.insert(row.end(), {(*part)->peak_bytes, (*part)->allocated_peak_bytes, (*part)->reserved_peak_bytes,
                             (*part)->device_bytes});
      if (has_range) row.insert(row.end(), {(*part)->device_low_bytes, (*part)->device_high_bytes});
      if (const auto verdict = VerdictOf(**part, limits)) row.emplace_back(std::string(NameOf(*verdict)));
    }
    if (training) row.insert(row.end(), {run.training->first_step_peak_bytes, run.saved_activation_bytes});
    if (!trains.empty()) row.emplace_back(trains);
  }
  return table;
}

}  // namespace onnx_mem
