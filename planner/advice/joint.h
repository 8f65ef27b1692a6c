// Batch, accumulation, precision, optimizer, checkpointing and offload chosen together: the runs of as many samples per
// optimizer step that fit a card, and what each takes in memory and in time for a sample.
//
//   base        x  micro-batch          x  plan
//   as it is       256 x 1                 none, where it fits
//   fused          128 x 2                 the cheapest that fits, and some that need less
//   autocast       ...
//
// Every row is a run that the accountant enacted as its flags say; what fits without a plan is not divided further than
// once.
#ifndef ONNX_MEM_PLANNER_ADVICE_JOINT_H_
#define ONNX_MEM_PLANNER_ADVICE_JOINT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/devices/roofline.h"
#include "planner/advice/footprint.h"
#include "planner/advice/way.h"

namespace onnx_mem {

struct JointRequest {
  int64_t limit_bytes = 0;       // on the device
  const Gpu* card = nullptr;     // nullptr: not known
  RooflineCard rates;            // that times are known by
  int64_t plan_iterations = 40;  // of each search for plans
};

struct JointRun {
  Proposal change;
  int64_t device_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t ns_per_sample = 0;    // estimated
  bool same_numbers = true;     // false: other precision, or another optimizer
  int64_t batch_norm_sees = 0;  // samples, where they are fewer than requested; 0: it sees those, or there is none
};

// The frontier of memory against time for a sample, the fastest first: of all runs that train on the same numbers, then
// those of others that no run beats in both. `workload` is of training. Empty where nothing fits.
std::vector<JointRun> ChooseJointly(Study& study, const Workload& workload, const JointRequest& request);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_JOINT_H_
