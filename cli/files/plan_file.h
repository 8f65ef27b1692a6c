// --plan FILE: a plan report, or segments written by hand, -> the checkpoint segments of a run.
//
//   {"segments": [{"modules": ["layer1", "layer2.0"]}, {"nodes": ["/Relu_3", "/Conv_4"]}]}
//   {"segments": [{"modules": ["layer1"], "keep": ["addmm"]}]}
//   {"segments": [{"modules": ["layer1"], "keep": {"layer1.fc:aten.addmm.default#0": [0]}, "skip": ["layer1:..."]}]}
//   {"segments": [{"modules": ["layer1"], "keep": {...}, "offload": {"calls": {"layer1.fc:aten.addmm.default#0": [0]},
//                                                                    "inputs": true, "when": "overlapped"}}]}
//   {"settings": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "segments": [...]}
//   {"schema": "onnx-mem/1", "command": "plan", "chosen": 3, "plans": [{"id": 3, "segments": [...]}, ...]}
#ifndef ONNX_MEM_CLI_FILES_PLAN_FILE_H_
#define ONNX_MEM_CLI_FILES_PLAN_FILE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/run/run.h"
#include "cli/options/options.h"

namespace onnx_mem {

struct GivenPlan {
  std::vector<Segment> segments;
  std::optional<std::string> allocator;  // that its "settings" turn on; nullopt: they name none
};

// Errors: NotFound (not-found), InvalidArgument (bad-plan) naming `path`.
absl::StatusOr<GivenPlan> ReadPlanFile(const std::string& path);

// The same from text; `path` is for messages.
absl::StatusOr<GivenPlan> ParsePlan(std::string_view text, const std::string& path);

// For who gives a plan without segments, written by hand or chosen because nothing had to run again.
Diagnostic NoSegmentsNote();

// `options` with the segments of its plan file, if it names one, and with the allocator that the file's settings turn
// on, unless the user named another.
absl::StatusOr<Options> WithPlanFile(Options options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_FILES_PLAN_FILE_H_
