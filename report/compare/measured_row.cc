#include "report/compare/measured_row.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "report/analyze/report.h"
#include "report/parts/json_writer.h"

namespace onnx_mem {
namespace {

constexpr int64_t kBlock = 512;  // sizes of blocks are multiples (c10/cuda/CUDACachingAllocator.h, kMinBlockSize)

void AddModel(JsonWriter& json, const ReportedModel& model) {
  json.Key("model").BeginObject();
  json.Add({{"source", model.source}, {"producer", NullIfEmpty(model.producer)}, {"nodes", model.nodes}});
  json.Add({{"parameters", model.parameters}, {"parameter_dtype", NullIfEmpty(model.parameter_dtype)}});
  json.Add({{"parameter_bytes", model.parameter_bytes}, {"buffer_bytes", model.buffer_bytes}});
  json.EndObject();
}

void AddSettings(JsonWriter& json, const Measurement& measured, const Analysis& analysis) {
  json.Key("settings").BeginObject();
  for (const auto& [name, value] : analysis.assumptions) json.Add({{name, WithoutNames(name, value)}});
  json.EndObject();
  json.Key("lengths").BeginArray(JsonWriter::Layout::kOneLine);
  for (int64_t length : measured.lengths) json.Int(length);
  json.EndArray();
}

}  // namespace

// Numbers stand before a colon, patterns of names behind it.
std::string WithoutNames(std::string_view option, std::string_view value) {
  constexpr auto kAreNames = std::to_array<std::string_view>(
      {"checkpointed", "freeze", "hold", "inplace", "requires-grad", "segment", "split"});
  constexpr auto kNoName = std::to_array<std::string_view>({"all", "auto", "none", "norms", "nothing"});
  const bool names = std::find(kAreNames.begin(), kAreNames.end(), option) != kAreNames.end();
  if (names && std::find(kNoName.begin(), kNoName.end(), value) == kNoName.end()) return "given";
  return std::string(value.substr(0, value.find(':')));
}

std::string_view CauseOf(const PeakFigures& figures, int64_t measured_bytes) {
  const int64_t more = measured_bytes - figures.allocated_peak_bytes;
  if (-kBlock < more && more < kBlock) return "none";
  if (measured_bytes > figures.allocated_high_bytes) return "above-range";
  if (measured_bytes < figures.allocated_low_bytes) return "below-range";
  const bool ranges = figures.peak_high_bytes > 0;
  const int64_t file_less = ranges ? figures.peak_bytes - figures.peak_low_bytes : 0;
  const int64_t file_more = ranges ? figures.peak_high_bytes - figures.peak_bytes : 0;
  return -file_less <= more && more <= file_more ? "file" : "workspace";
}

std::string MeasuredRow(const Measurement& measured, const Analysis& analysis) {
  const PeakFigures& figures = *MainFigures(analysis);
  JsonWriter json;
  json.BeginObject();
  json.Add({{"onnx_mem", ONNX_MEM_VERSION}});
  AddModel(json, SummarizeModel(analysis));
  json.Add({{"batch", analysis.batch}});
  AddSettings(json, measured, analysis);
  json.Add({{"card", NullIfEmpty(measured.card)}});
  if (measured.driver.empty()) {
    json.Add({{"driver_unknown", "no driver of this machine has the card that --gpu names"}});
  } else {
    json.Add({{"driver", measured.driver}});
  }
  json.Add({{"figure", "torch.cuda.max_memory_allocated()"}});
  json.Add({{"predicted_bytes", figures.allocated_peak_bytes},
            {"low_bytes", figures.allocated_low_bytes},
            {"high_bytes", figures.allocated_high_bytes},
            {"measured_bytes", measured.bytes},
            {"difference_bytes", figures.allocated_peak_bytes - measured.bytes},
            {"cause", CauseOf(figures, measured.bytes)}});
  json.Key("open").BeginArray(JsonWriter::Layout::kOneLine);
  for (const Diagnostic& note : analysis.diagnostics) json.String(NameOf(note.code));
  json.EndArray();
  json.EndObject();
  return absl::StrCat("```json\n", json.text(), "\n```\n");
}

}  // namespace onnx_mem
