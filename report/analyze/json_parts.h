// Parts of the JSON report that several commands write.
#ifndef ONNX_MEM_REPORT_ANALYZE_JSON_PARTS_H_
#define ONNX_MEM_REPORT_ANALYZE_JSON_PARTS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "report/analyze/report.h"
#include "report/parts/json_writer.h"

namespace onnx_mem {

// The member "model".
void WriteModel(JsonWriter& json, const ReportedModel& model);

// The members "bindings" and "assumptions".
void WriteQuestion(JsonWriter& json, const Report& report, std::optional<int64_t> batch);

// Those, limits, "runs", "scaling".
void WriteAnalyses(JsonWriter& json, const Report& report, const AnalyzePart& analyzed);

// The member "runs".
void WriteRuns(JsonWriter& json, const Report& report, bool card_named);

// "verdict", "device_bytes", "device_interval_bytes"; the same as an object under `key`, on a limit.
void WriteNeedMembers(JsonWriter& json, const Need& need, Verdict verdict);
void WriteNeed(JsonWriter& json, std::string_view key, const Need& need, int64_t limit_bytes);

// What entries of "gpus" begin with: "name", "memory_bytes", "usable_bytes", "verdict".
void WriteCardName(JsonWriter& json, const Limit& limit, Verdict verdict);

// "budget_bytes", and "budget_of" where it was given as a share.
void WriteBudget(JsonWriter& json, const Limit& limit);

// What the runs were held against, "fits", "verdict" and "gpus"; nothing without limits.
void WriteLimits(JsonWriter& json, const Report& report, const std::vector<Limit>& limits);

// The members of fit behind "source", but for its tables.
void WriteFit(JsonWriter& json, const Report& report, const FitPart& fit);

// The figures of PASS rows that JSON has in `object` of a run.
void WritePasses(JsonWriter& json, std::string_view object, const RunSummary& run);

// The member "breakdown".
void WriteBreakdown(JsonWriter& json, const PartSummary& part, FigureOf of);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_JSON_PARTS_H_
