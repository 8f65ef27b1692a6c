// Times the step-graph planners by size: plan and gap per budget, and the whole curve of a network of 1,000 operators.
//
//   planner_scale
//
// CPU time is what a busy machine disturbs least; the limits that planners keep to are wall time.
#include <sys/resource.h>

#include <cstdio>
#include <ctime>

#include "bench/step_graphs.h"
#include "solver/methods/solve.h"
#include "solver/methods/tradeoff.h"

namespace onnx_mem {
namespace {

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

long PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void Time(const char* name, const StepGraph& graph, double seconds) {
  const int64_t full = Solve(graph, int64_t{1} << 60, {})->peak_bytes;
  for (int percent : {90, 70, 50, 30, 10}) {
    const double start = CpuSeconds();
    const auto solution = Solve(graph, full / 100 * percent, {"auto", seconds, 0});
    const double spent = CpuSeconds() - start;
    const bool found = solution.ok() && solution->status == SolveStatus::kFeasible;
    std::printf("%-28s %6zu operators, %2d %% of the peak: %s gap %.4f %%, %.2f s of %.1f s, %ld MB\n", name,
                graph.ops.size(), percent, found ? solution->method.c_str() : "no plan",
                found ? solution->gap * 100 : 0.0, spent, seconds, PeakMegabytes());
  }
}

void TimeCurve(const StepGraph& graph) {
  const double start = CpuSeconds();
  const auto curve = Tradeoff(graph, 32, {"auto", 3.0, 0});
  const double spent = CpuSeconds() - start;
  if (!curve.ok()) return;
  double most_gap = 0;
  int plans = 0;
  for (const TradeoffPoint& point : *curve) {
    if (point.solution.status != SolveStatus::kFeasible) continue;
    ++plans;
    most_gap = point.solution.gap > most_gap ? point.solution.gap : most_gap;
  }
  std::printf("curve of %zu operators: %d plans of 32 budgets, gap at most %.2f %%, %.2f s\n", graph.ops.size(), plans,
              most_gap * 100, spent);
}

}  // namespace
}  // namespace onnx_mem

int main() {
  onnx_mem::Time("chain of 200 blocks", onnx_mem::ChainOfBlocks(200), 0.5);
  onnx_mem::Time("chain of 334 blocks", onnx_mem::ChainOfBlocks(334), 2);
  onnx_mem::Time("transformer of 36 layers", onnx_mem::TransformerLayers(36), 2);
  onnx_mem::Time("transformer of 357 layers", onnx_mem::TransformerLayers(357), 5);
  onnx_mem::Time("chain of 3334 blocks", onnx_mem::ChainOfBlocks(3334), 5);
  onnx_mem::TimeCurve(onnx_mem::TransformerLayers(36));
  return 0;
}
