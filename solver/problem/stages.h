// The step graph as the planners search it.
//
// The operators that must run ("anchors": backward and ordered ones, in RequiredOrder) cut time into stages: gap 0,
// anchor 0, gap 1, anchor 1, ... Gradients follow from the anchors alone, so their bytes are numbers here; what is
// left to decide is which activations ("items") are resident when, and which operators run again in which gap.
//
//   gap 0: F1 F2 F3 | anchor 0 = B3 | gap 1: (re-runs) | anchor 1 = B2 | gap 2: (re-runs) | anchor 2 = B1
//
// A requirement is one entry of an operator's inputs that names activations: any one of its alternatives serves. The
// requirement "item i and nothing else" has the index i; requirements with several alternatives follow after the items.
#ifndef ONNX_MEM_SOLVER_PROBLEM_STAGES_H_
#define ONNX_MEM_SOLVER_PROBLEM_STAGES_H_

#include <cstdint>
#include <vector>

#include "solver/problem/problem.h"

namespace onnx_mem {

struct StageItem {
  StepTensorId tensor;
  int64_t bytes = 0;
  std::vector<int> producers;  // re-runnable operators that write it
  int maker = -1;              // the first anchor that writes it, -1 if none does
  int useful_until = -1;       // after this anchor nothing can need it
};

struct StageOp {  // may run in gaps first_gap, first_gap + 1, ...
  StepOpId id;
  int64_t cost = 0;
  int64_t work_bytes = 0;
  std::vector<int> needs;    // requirements
  std::vector<int> outputs;  // items
  int group = 0;
  int first_gap = 0;
};

struct StageRequirement {
  std::vector<int> alternatives;  // items
  int group = -1;                 // the one group whose operators can serve it by running, -1 if several can (or none)
  int64_t cost = 0;               // of the cheapest such operator; meaningless if group is -1
  std::vector<int> subs;          // requirements that every such operator has
};

struct StageAnchor {
  StepOpId id;
  int op = -1;  // the re-runnable operator that it is the first run of, -1 for backward operators
  int64_t cost = 0;
  int64_t fixed_bytes = 0;   // while it runs: base, gradients, its gradient outputs in full, its work
  int64_t gap_bytes = 0;     // in the gap before it: base and gradients
  std::vector<int> needs;    // requirements
  std::vector<int> outputs;  // items
};

struct StageProblem {
  std::vector<StageItem> items;
  std::vector<StageOp> ops;  // in the listed order
  std::vector<StageRequirement> requirements;
  std::vector<StageAnchor> anchors;
  int group_count = 0;
  int64_t anchor_cost = 0;  // of all anchors, once
  int64_t cost_unit = 1;    // every cost is a multiple of this
  int item_count() const { return static_cast<int>(items.size()); }
  int anchor_count() const { return static_cast<int>(anchors.size()); }
};

// `graph` must verify.
StageProblem BuildStages(const StepGraph& graph);

// What the anchor needs while it runs, whatever else is dropped. Of a choice of inputs, none is counted.
int64_t LeastBytes(const StageProblem& problem, const StageAnchor& anchor);

// Some operator makes an item that serves the requirement, so it may be dropped and made again.
bool CanBeProduced(const StageProblem& problem, const StageRequirement& requirement);

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_PROBLEM_STAGES_H_
