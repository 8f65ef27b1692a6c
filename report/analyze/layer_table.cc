// What each layer holds, computes and takes time for.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "report/analyze/report.h"
#include "report/analyze/tables.h"
#include "report/parts/grouped.h"

namespace onnx_mem {
namespace {

std::string Labelled(std::string_view module) { return std::string(module.empty() ? kNoModule : module); }

// The last step of the model's own forward; invalid for an empty program.
StepId LastForwardStep(const MemoryProgram& program) {
  StepId last;
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    if (program.steps[id].phase != Phase::kForward) break;
    last = id;
  }
  return last;
}

// One entry per step; empty where times are not reported.
std::vector<StepTime> TimesOf(const MemoryProgram& program, const Clock* clock) {
  if (clock == nullptr || !clock->unknown.empty()) return {};
  return StepTimes(program, clock->card, clock->measured, nullptr, clock->micro_steps);
}

struct LayerSums {
  int64_t parameters = 0, parameter_bytes = 0, peak_bytes = 0, saved_bytes = 0, flops = 0;
  std::array<int64_t, 4> time_ns = {};  // by Bound
};

// FLOPs and times of the steps of each layer.
void AddSteps(const MemoryProgram& program, const Clock* clock, Grouped<LayerSums>& layers) {
  const std::vector<StepTime> times = TimesOf(program, clock);
  const StepId later = LaterMicroSteps(program).begin;  // FLOPs are those of one micro-step
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    const bool counted = step.phase == Phase::kForward && !step.recompute && id < later;
    if (!counted && times.empty()) continue;
    LayerSums& layer = layers[Labelled(step.module.empty() ? step.node : step.module)];
    if (counted) layer.flops += step.flops;
    if (times.empty()) continue;
    const StepTime& time = times[id.index()];
    layer.time_ns[static_cast<size_t>(time.bound)] += time.nanoseconds;
  }
}

void AddBuffers(const RunFigures& figures, const Modules& modules, Grouped<LayerSums>& layers) {
  const MemoryProgram& program = *figures.program;
  const StepId peak = figures.timeline.peak_step, end_of_forward = LastForwardStep(program);
  for (const Buffer& buffer : program.buffers) {
    LayerSums& layer = layers[Labelled(modules.LayerOf(program, buffer))];
    if (AliveAt(buffer, peak)) layer.peak_bytes += buffer.bytes;
    if (buffer.category == Category::kSavedActivations && AliveAt(buffer, end_of_forward)) {
      layer.saved_bytes += buffer.bytes;
    }
  }
}

// What bounds most of a layer's time.
Cell BoundOf(const LayerSums& layer) {
  const auto most = std::max_element(layer.time_ns.begin(), layer.time_ns.end());
  return *most > 0 ? Cell(std::string(NameOf(static_cast<Bound>(most - layer.time_ns.begin())))) : Cell();
}

}  // namespace

Table LayerTable(const Analysis& analysis, const Clock* clock) {
  Grouped<LayerSums> layers;
  if (const RunFigures* figures = MainFigures(analysis)) {
    AddSteps(*figures->program, clock, layers);
    AddBuffers(*figures, Modules(analysis.parameters), layers);
  }
  for (const Parameter& parameter : analysis.parameters) {
    LayerSums& layer = layers[Labelled(parameter.module)];
    layer.parameters += NumElements(Shape(parameter.dims)).value_or(0);
    layer.parameter_bytes += parameter.bytes;
  }
  Table table{"layers",
              "Layers",
              {{"module", "layer"},
               {"parameters", "parameters", ColumnKind::kCount},
               {"parameter_bytes", "parameter bytes", ColumnKind::kBytes, Show::kDetail},
               {"peak_bytes", "at the peak", ColumnKind::kBytes},
               {"saved_bytes", "saved", ColumnKind::kBytes},
               {"flops", "FLOPs", ColumnKind::kWork},
               {"macs", "MACs", ColumnKind::kWork, Show::kData}},
              {},
              3};
  const bool timed = clock != nullptr && clock->unknown.empty();
  if (timed) {
    table.columns.push_back({"time_ns", "time", ColumnKind::kTime});
    table.columns.push_back({"bound", "bound by"});
  }
  for (const auto& [name, layer] : layers.groups()) {
    Row& row = table.rows.emplace_back(Row{name, layer.parameters, layer.parameter_bytes, layer.peak_bytes,
                                           layer.saved_bytes, layer.flops, layer.flops / 2});
    if (!timed) continue;
    row.emplace_back(std::accumulate(layer.time_ns.begin(), layer.time_ns.end(), int64_t{0}));
    row.push_back(BoundOf(layer));
  }
  return table;
}

}  // namespace onnx_mem
