// The interval of a training peak, for tests of what widens it.
#ifndef ONNX_MEM_TESTS_ANALYZER_ANALYSIS_BOUNDED_H_
#define ONNX_MEM_TESTS_ANALYZER_ANALYSIS_BOUNDED_H_

#include <gtest/gtest.h>

#include <vector>

#include "analyzer/analysis/peak_bounds.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

struct Bounded {
  int64_t peak_bytes = 0;
  PeakBounds bounds;  // by what the file leaves open
  PeakBounds all;     // with the margin
  std::vector<Diagnostic> diagnostics;
};

inline Bounded BoundsIn(Graph graph, const Workload& workload = {}, const std::vector<Diagnostic>& found = {}) {
  absl::StatusOr<Lowered> lowered = Prepare(graph, workload.run);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  absl::StatusOr<Enacted> enacted = EnactLowered(*lowered, workload.run);
  EXPECT_TRUE(enacted.ok()) << enacted.status();
  Bounded bounded{
      .peak_bytes = *TrainingPeak(*enacted, workload), .bounds = {}, .all = {}, .diagnostics = enacted->diagnostics};
  bounded.diagnostics.insert(bounded.diagnostics.end(), found.begin(), found.end());
  absl::StatusOr<PeakBounds> bounds = BoundRun(
      *lowered, workload, {bounded.peak_bytes, true}, [&](const Run& run) { return Prepare(graph, run); },
      bounded.diagnostics);
  EXPECT_TRUE(bounds.ok()) << bounds.status();
  bounded.bounds = *bounds;
  bounded.all = WithMargin(*bounds, bounded.peak_bytes, *lowered, /*training=*/true);
  return bounded;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_ANALYSIS_BOUNDED_H_
