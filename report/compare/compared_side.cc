// An analysis as a side of a comparison.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "report/analyze/tables.h"
#include "report/compare/matching.h"
#include "report/parts/grouped.h"
#include "report/parts/modules.h"

namespace onnx_mem {
namespace {

std::vector<LayerFigures> LayersOf(const Analysis& analysis) {
  std::vector<LayerFigures> layers;
  const RunFigures* figures = MainFigures(analysis);
  if (!figures) return layers;
  struct Kind {
    std::string ops;
    bool is_module = false;
  };
  Grouped<Kind> kinds;
  for (const Step& step : figures->program->steps) {
    if (step.phase != Phase::kForward || step.recompute) continue;
    Kind& kind = kinds[step.module.empty() ? step.node : step.module];
    absl::StrAppend(&kind.ops, step.op.str(), " ");
    kind.is_module = kind.is_module || !step.module.empty();
  }
  const Table table = LayerTable(analysis);
  for (const Row& row : table.rows) {
    LayerFigures& layer = layers.emplace_back();
    layer.name = std::get<std::string>(CellAt(table, row, "module"));
    layer.bytes = std::get<int64_t>(CellAt(table, row, "peak_bytes"));
    const Kind& kind = kinds[layer.name];
    layer.kind = kind.ops;
    layer.is_module = kind.is_module || (kind.ops.empty() && IsPath(layer.name)) || layer.name == kNoModule;
  }
  return layers;
}

std::vector<OperatorCall> CallsOf(const Analysis& analysis) {
  std::vector<OperatorCall> calls;
  const RunFigures* figures = MainFigures(analysis);
  if (!figures) return calls;
  const MemoryProgram& program = *figures->program;
  std::vector<int64_t> bytes(program.steps.size(), 0);
  for (const Buffer& buffer : program.buffers) {
    if (MadeByAStep(buffer) && program.steps.contains(buffer.begin)) {
      bytes[buffer.begin.index()] += buffer.bytes;
    }
  }
  size_t index = 0;
  for (const Step& step : program.steps) {
    const size_t at = index++;
    if (step.phase != Phase::kForward || step.recompute) continue;
    calls.push_back({step.op, step.node, step.module, bytes[at]});
  }
  return calls;
}

}  // namespace

ComparedSide ComparedOf(const Analysis& analysis) {
  ComparedSide side;
  side.report.command = "analyze";
  side.report.model = SummarizeModel(analysis);
  side.report.bound_dims = analysis.info.bound_dims;
  side.report.assumptions = analysis.assumptions;
  side.report.runs = {Summarize(analysis)};
  side.report.notes = analysis.diagnostics;
  side.layers = LayersOf(analysis);
  side.calls = CallsOf(analysis);
  side.half = FindHalfPrecision(*analysis.graph);
  return side;
}

}  // namespace onnx_mem
