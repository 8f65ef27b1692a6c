// Parts of the JSON report that several commands write.
#ifndef ONNX_MEM_CLI_REPORT_ANALYZE_JSON_PARTS_H_
#define ONNX_MEM_CLI_REPORT_ANALYZE_JSON_PARTS_H_

#include <string_view>
#include <utility>
#include <vector>

#include "cli/report/analyze/report.h"
#include "cli/report/parts/json_writer.h"

namespace onnx_mem {

// The member "model".
void WriteModel(JsonWriter& json, const ModelSummary& model);

// The members "bindings", "assumptions", limits, "runs", "scaling".
void WriteAnalyses(JsonWriter& json, const Report& report, const AnalyzePart& analyzed);

// The member "runs".
void WriteRuns(JsonWriter& json, const Report& report, bool card_named);

// The categories of an inference, whose activations are one.
std::vector<std::pair<std::string_view, int64_t>> InferenceBreakdown(const PartSummary& part);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_REPORT_ANALYZE_JSON_PARTS_H_
