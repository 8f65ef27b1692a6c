// A saved report, shown again and held against itself, in every form that has one.
#include "report/analyze/report.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/files/saved_report.h"
#include "report/compare/comparison.h"
#include "report/parts/formats.h"

namespace {

void RenderAll(const onnx_mem::Report& report) {
  for (const onnx_mem::FormatRow& format : onnx_mem::FormatRows()) {
    if (!format.one_run) (void)format.render(report, onnx_mem::Screen());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto side = onnx_mem::ParseSavedReport(text, "report.json", std::nullopt);
  if (!side.ok()) return 0;
  onnx_mem::Report shown = side->report;
  shown.part = onnx_mem::AnalyzePart();
  RenderAll(shown);
  auto comparison = std::make_shared<onnx_mem::ComparedReports>(onnx_mem::Compare(*side, {*side}));
  comparison->gate = onnx_mem::CheckGate(*comparison, 2);
  for (const char* listed : {"", "layers"}) {
    onnx_mem::Report compared;
    compared.command = "compare";
    compared.part = onnx_mem::ComparePart(comparison);
    compared.shown_table = listed;
    RenderAll(compared);
    (void)onnx_mem::RenderQuiet(compared);
  }
  return 0;
}
