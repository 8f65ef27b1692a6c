// What PyTorch took with plans of testdata/measured, and what the analysis says of the same.
#ifndef ONNX_MEM_TESTS_ANALYZER_ANALYSIS_MEASURED_PLANS_H_
#define ONNX_MEM_TESTS_ANALYZER_ANALYSIS_MEASURED_PLANS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/memory/timeline.h"
#include "analyzer/run/run.h"
#include "tests/gunzip.h"

namespace onnx_mem {

inline nlohmann::json Unpacked(const std::string& path) { return nlohmann::json::parse(Gunzip(path)); }

// {"name of a call": [outputs]}
inline std::vector<KeptCall> CallsIn(const nlohmann::json& calls) {
  std::vector<KeptCall> found;
  for (const auto& [name, outputs] : calls.items())
    found.push_back({*ParseCallId(name), outputs.get<std::vector<int8_t>>()});
  return found;
}

// After each step up to the end of backward that allocates.
inline std::vector<int64_t> LiveBytes(const MemoryProgram& program) {
  const Timeline timeline = ComputeTimeline(program);
  std::vector<int64_t> made(program.steps.size(), 0), live;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.begin.value() > 0 || buffer.category > Category::kInputs) made[buffer.begin.index()] += buffer.bytes;
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (program.steps[StepId(static_cast<int32_t>(i))].phase == Phase::kOptimizer) break;
    if (made[i] > 0) live.push_back(timeline.live_bytes[i]);
  }
  return live;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_ANALYSIS_MEASURED_PLANS_H_
