// One way to need less memory: a change of the workload that the accountant can measure, with the options that say the
// same on the command line and what it costs besides.
//
//   autocast:  run.autocast = bf16   --amp bf16            "check the accuracy"
//   smaller batch, same samples per step: batch 32, accumulate 2   -b 32 --accumulate 2   "BatchNorm sees 32"
//
// Each way is one row of ways.cc and one file. A way proposes nothing where the model or the run cannot do it.
#ifndef ONNX_MEM_PLANNER_ADVICE_WAY_H_
#define ONNX_MEM_PLANNER_ADVICE_WAY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/gpus.h"
#include "planner/advice/footprint.h"

namespace onnx_mem {

inline constexpr int64_t kWorthwhile = 100;  // a change saves at least one in so many bytes

// What a change is paid with, cheapest first.
enum class Price : uint8_t {
  kNothing,   // a line of code
  kAccuracy,  // the same training in fewer bits
  kTime,      // the same training, slower
  kTraining,  // another training: other optimizer, fewer trained parameters
  kTask,      // another task: smaller inputs, smaller batches
};
std::string_view NameOf(Price price);  // "nothing", "accuracy", ...

struct Proposal {
  std::string change;              // "bf16 autocast"
  std::vector<std::string> flags;  // what to append to the command line for the same run
  std::string cost;                // in words, "" for nothing; recomputation is measured and not said here
  Price price = Price::kNothing;
  Workload workload;  // the run with it
  // Of a plan for ranks: extra time of the step as a fraction, without communication; unset where no clock knows it.
  std::optional<double> extra_time = {};
  bool planned_for_ranks = false;  // onnx-mem plan with this layout prints the plan
};

// What a way may look at: the run as it is, and the model with its dimensions bound.
struct Situation {
  const Workload& workload;  // mode is kTraining or kInference
  Study& study;
  Shared<ImportedModel> model;
  Shared<Enacted> enacted;
  int64_t batch = 1;
  const Gpu* card = nullptr;                 // nullptr: not known
  std::optional<int64_t> budget_bytes = {};  // on the device; unset: as little as is worth it
  // Enactments that a search for checkpoint plans may take; 0: no search. One for ranks takes what onnx-mem plan does.
  int64_t plan_iterations = 0;
  const std::vector<Proposal>* checkpoints = nullptr;  // of this run, where they are known
};

// `workload` as `study` has it.
absl::StatusOr<Situation> SituationOf(Study& study, const Workload& workload);

struct WayRow {
  std::string_view name;
  Price price;  // no proposal of it has a cheaper one
  bool spread;  // holds of a step over several cards too
  std::vector<Proposal> (*propose)(const Situation& situation);
};

absl::Span<const WayRow> WayRows();

// One file each; the rows of the table.
std::vector<Proposal> ProposeExpandableSegments(const Situation& situation);
std::vector<Proposal> ProposeFusedOptimizer(const Situation& situation);
std::vector<Proposal> ProposeInPlace(const Situation& situation);
std::vector<Proposal> ProposeInPlaceNorms(const Situation& situation);
std::vector<Proposal> ProposeAttentionKernel(const Situation& situation);
std::vector<Proposal> ProposeAutocast(const Situation& situation);
std::vector<Proposal> ProposeHalfPrecision(const Situation& situation);
std::vector<Proposal> ProposeHalfPrecisionTraining(const Situation& situation);
std::vector<Proposal> ProposeCheckpoints(const Situation& situation);
std::vector<Proposal> ProposeAccumulation(const Situation& situation);
std::vector<Proposal> ProposeSmallerState(const Situation& situation);
std::vector<Proposal> ProposeFrozenPrefix(const Situation& situation);
std::vector<Proposal> ProposeFrozenMatrix(const Situation& situation);
std::vector<Proposal> ProposeSmallerInput(const Situation& situation);
std::vector<Proposal> ProposeSmallerLinear(const Situation& situation);
std::vector<Proposal> ProposeBucketView(const Situation& situation);
std::vector<Proposal> ProposeShards(const Situation& situation);
std::vector<Proposal> ProposeReshard(const Situation& situation);
std::vector<Proposal> ProposeFsdpOffload(const Situation& situation);
std::vector<Proposal> ProposeNoOutputs(const Situation& situation);
std::vector<Proposal> ProposeOneForwardOneBackward(const Situation& situation);
std::vector<Proposal> ProposeMicroBatches(const Situation& situation);
std::vector<Proposal> ProposeSmallerBatch(const Situation& situation);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_WAY_H_
