// Can a checkpoint segment be put on the user's model from outside, and how?
//
//   ["layer1"]                  a module that is called: its forward is wrapped, each call of it for itself
//   ["layer1.0", "layer1.1"]    modules that run one after another, each on what the one before it made: one wrap
//                               around them all (children of one nn.Sequential, blocks that a loop calls)
//   ["blocks"], an nn.ModuleList; a run with operators of its parent in between; nodes without a module:
//                               only by editing forward
//
// The file shows data flow, not Python: that each of a run's modules is called on what the one before returned is
// checked again by the emitted code when the model runs; further arguments may differ (emit_pytorch.h).
#ifndef ONNX_MEM_PLANNER_CODE_WRAPPING_H_
#define ONNX_MEM_PLANNER_CODE_WRAPPING_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/analysis/module_nodes.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

enum class WrapKind { kModule, kRun, kEditForward };

struct Wrapping {
  WrapKind kind = WrapKind::kModule;
  Segment segment;                  // its modules in the order in which they run
  int calls = 1;                    // of its only module: each is a checkpoint call of its own
  bool random = false;              // draws random numbers, whose state must be kept
  bool running_statistics = false;  // holds BatchNorms, whose statistics must not move twice
  std::string why;                  // of kEditForward: what stands in the way
};

// `segment` of a model as Prepare gives it, whose nodes by module are `modules`. Errors: unknown-module, unknown-node.
absl::StatusOr<Wrapping> WrappingOf(const Lowered& lowered, const ModuleNodes& modules, const Segment& segment);

// Whether one call can run both: `next` directly behind `before`, on nothing but its result and what that was given.
bool CanFollow(const Lowered& lowered, const eager::NodeRange& before, const eager::NodeRange& next);

// The first path component that every module of the model has, "m" of m.bert and m.classifier: a class made for the
// export, which the user's model may lack. "" if there is none.
std::string WrapperOf(const Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_WRAPPING_H_
