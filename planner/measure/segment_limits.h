// What sets of disjoint checkpoint segments can do at best, in numbers that add up, from one enacted step without any.
//
// A buffer of the forward is alive in backward as long as one of the nodes that saved it has not run its backward, or a
// checkpointed range that read it from outside has not. So a range frees a buffer only if it holds its maker and every
// node that saved it: a second range that reads the buffer keeps it as an input of its own. Hence for any set P
//   alive with P while node n's backward runs  >=  alive without any  -  sum over ranges of P before n of what each
//   frees
// and the same for the backward of a range of P, in place of "alive without any" its own second run. Gradients, and the
// order in which they appear, are the same for every P.
//
//   conv1 bn1 relu1 | conv2      relu1's result, saved by relu1 and conv2: the range up to relu1 does not free it
//
// A range also holds what it reads and nobody saves. Several ranges may hold the same: where up to k of them can be
// chosen together, each counts for a k-th of it.
//
// Costs add up, as what a range computes twice does not depend on other ranges. All figures err on the side of P: it
// frees at most, costs at least, holds at least.
#ifndef ONNX_MEM_PLANNER_MEASURE_SEGMENT_LIMITS_H_
#define ONNX_MEM_PLANNER_MEASURE_SEGMENT_LIMITS_H_

#include <cstdint>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "planner/measure/candidates.h"

namespace onnx_mem {

struct SegmentLimits {
  struct Range {
    int32_t first = 0;  // lowered nodes, inclusive
    int32_t last = 0;
    int64_t frees_bytes = 0;  // at most, from the end of the forward on; less than 0 if it holds more than it frees
    int64_t cost = 0;         // at least
    int64_t live_bytes = 0;   // at least, at its backward's peak, before what earlier ranges free
  };
  std::vector<Range> ranges;
  std::vector<int64_t> node_live;  // by node outside of any range: alive at least in its backward, before the same
  int64_t loss_live = 0;           // between the model's forward and its backward
  int64_t constant_live = 0;       // of steps that no segment changes; of the forward, what is read later in it
};

// `trace`: the step without segments; `cost`: of each of its steps, `call_cost`: of a segment beside them;
// `always_bytes`: alive beside what the program has. One range per candidate. What `constant_live` has of the
// optimizer's steps is left to the caller.
SegmentLimits LimitsOf(const FrameworkGraph& graph, const StepTrace& trace, const std::vector<int64_t>& cost,
                       int64_t call_cost, int64_t always_bytes, const std::vector<Candidate>& candidates);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_SEGMENT_LIMITS_H_
