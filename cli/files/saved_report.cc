#include "cli/files/saved_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

absl::Status BadReport(const std::string& path, std::string_view what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadReport, absl::StrFormat("'%s': %s", path, what),
                     {"expected: a report of onnx-mem MODEL -o report.json"});
}

int64_t IntAt(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

std::string TextAt(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void ReadInterval(const Json& object, std::string_view key, int64_t& low, int64_t& high) {
  const auto interval = object.find(key);
  if (interval == object.end() || !interval->is_array() || interval->size() != 2) return;
  if (!interval->at(0).is_number_integer() || !interval->at(1).is_number_integer()) return;
  low = interval->at(0).get<int64_t>();
  high = interval->at(1).get<int64_t>();
}

// nullopt where the part was not analyzed, or the figures are not there.
std::optional<PartSummary> PartAt(const Json& run, const char* key) {
  const auto found = run.find(key);
  if (found == run.end() || !found->is_object() || !found->contains("peak_bytes")) return std::nullopt;
  PartSummary part;
  for (const PeakRow& row : kPeakRows) {
    if (row.is_range()) {
      ReadInterval(*found, row.key, part.*row.value, part.*row.high);
    } else {
      part.*row.value = IntAt(*found, row.key);
    }
  }
  part.steps = IntAt(*found, "steps");
  const auto breakdown = found->find("breakdown");
  if (breakdown == found->end() || !breakdown->is_object()) return std::nullopt;
  for (size_t c = 0; c < kNumCategories; ++c) {
    part.breakdown[c] = IntAt(*breakdown, NameOf(static_cast<Category>(c)));
  }
  // An inference's activations are one category.
  part.breakdown[static_cast<size_t>(Category::kTransientActivations)] += IntAt(*breakdown, "activations");
  return part;
}

absl::StatusOr<RunSummary> RunOf(const Json& runs, const std::string& path, std::optional<int64_t> batch) {
  const Json* chosen = nullptr;
  for (const Json& run : runs) {
    if (!run.is_object()) return BadReport(path, "a run is not a JSON object");
    if (batch ? IntAt(run, "batch") == *batch : runs.size() == 1) chosen = &run;
  }
  if (!chosen) {
    return BadReport(path, batch ? absl::StrFormat("it has no run of batch %d", *batch)
                                 : absl::StrFormat("it has %d runs; say which: --batch", runs.size()));
  }
  RunSummary run;
  run.batch = IntAt(*chosen, "batch");
  run.training = PartAt(*chosen, "training");
  run.inference = PartAt(*chosen, "inference");
  if (!run.training && !run.inference) return BadReport(path, "its run has no figures");
  for (const PassRow& row : kPassRows) {
    const auto object = chosen->find(row.object);
    if (object != chosen->end() && object->is_object()) run.*row.value = IntAt(*object, row.key);
  }
  return run;
}

std::optional<std::vector<LayerFigures>> LayersAt(const Json& report) {
  const auto rows = report.find("layers");
  if (rows == report.end() || !rows->is_array() || rows->empty()) return std::nullopt;
  std::vector<LayerFigures> layers;
  for (const Json& row : *rows) {
    if (!row.is_object()) return std::nullopt;
    layers.push_back({TextAt(row, "module"), true, "", IntAt(row, "peak_bytes")});
  }
  return layers;
}

}  // namespace

absl::StatusOr<ComparedSide> ParseSavedReport(std::string_view text, const std::string& path,
                                              std::optional<int64_t> batch) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return BadReport(path, "not JSON");
  if (!document.is_object() || TextAt(document, "schema") != "onnx-mem/1") {
    return BadReport(path, "not a report of onnx-mem");
  }
  const auto runs = document.find("runs");
  if (runs == document.end() || !runs->is_array() || runs->empty()) return BadReport(path, "it has no runs of a model");
  ComparedSide side;
  ASSIGN_OR_RETURN(RunSummary run, RunOf(*runs, path, batch));
  side.saved = true;
  if (const auto tool = document.find("tool"); tool != document.end() && tool->is_object()) {
    side.version = TextAt(*tool, "version");
  }
  side.report.command = "analyze";
  side.report.model.path = path;
  if (const auto model = document.find("model"); model != document.end() && model->is_object()) {
    side.report.model.producer = TextAt(*model, "producer");
    for (const ModelRow& row : kModelRows) side.report.model.*row.value = IntAt(*model, row.key);
  }
  if (const auto assumed = document.find("assumptions"); assumed != document.end() && assumed->is_object()) {
    for (const auto& [name, value] : assumed->items()) {
      if (value.is_string()) side.report.assumptions.emplace_back(name, value.get<std::string>());
    }
  }
  side.report.runs = {std::move(run)};
  side.layers = LayersAt(document);
  return side;
}

absl::StatusOr<ComparedSide> ReadSavedReport(const std::string& path, std::optional<int64_t> batch) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  return ParseSavedReport(text, path, batch);
}

}  // namespace onnx_mem
