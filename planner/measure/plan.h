// Checkpoint plans for a model: which modules to wrap in torch.utils.checkpoint so that a training step fits a budget.
//
// Every plan is enacted by the accountant that analyses models (analysis/enact.h): its peak and recompute are measured
// on the whole step, never taken from the algorithm that proposed it.
#ifndef ONNX_MEM_PLANNER_MEASURE_PLAN_H_
#define ONNX_MEM_PLANNER_MEASURE_PLAN_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/allocators/allocator.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/roofline.h"
#include "analyzer/parallel/rank_step.h"
#include "analyzer/parallel/traffic.h"
#include "analyzer/run/layout.h"
#include "analyzer/run/run.h"
#include "analyzer/runtimes/figures.h"
#include "analyzer/study/study.h"
#include "planner/measure/granularity.h"

namespace onnx_mem {

enum class BudgetLine { kDevice, kLive };  // what the budget limits: Measured::device_bytes or peak_bytes
enum class CostLine { kFlops, kTime };     // what recomputation costs: Measured::recompute_flops or recompute_ns

// What PlanRequest::method may be: auto, none, the rows of search/proposals.h, and dag, the search from all of them.
std::vector<std::string> MethodNames();

struct PlanRequest {
  std::optional<int64_t> budget_bytes = {};  // none: the knee of the curve is chosen
  BudgetLine budget_line = BudgetLine::kDevice;
  CostLine cost_line = CostLine::kTime;
  Clock clock = {DefaultRoofline(), false, "", {}};  // what times are known by
  std::optional<double> max_slowdown = {};           // 0.1: recompute at most a tenth of the step, by the cost line
  std::string method = "auto";                       // one of MethodNames()
  Granularity granularity = Granularity::kModule;
  bool negligible = false;                 // true: also segments that free less than 0.1 % of the peak
  bool plans_alone = false;                // true: no proof, no plan of other granularity or for another allocator
  bool for_finer = false;                  // true: plans for the search of a finer granularity, without a proof
  bool offload = false;                    // modules may go to the host in place of a second run; costs are times then
  std::optional<int64_t> host_bytes = {};  // that they may take there; none: as much as they want
  double time_limit_s = 0;                 // of processor time; 0 = none: then the same plans on any machine
  int64_t iteration_limit =
      0;  // enactments; the same limit gives the same plans on any machine; 0: by the model's size
  const std::atomic<bool>* stop = nullptr;  // set by who wants what has been found so far; outlives the request
  std::vector<Segment> given = {};  // a plan to choose where it keeps the limits, and to show on the curve; empty: none
  std::vector<std::string> units = {};  // of fully_shard, but for the root: segments lie inside one (unit_borders.h)
  std::vector<std::string> split =
      {};  // modules that tensor parallelism splits (rank_step.h) or a pipeline cuts: no segment is one of them
};

// What the accountant measures of one choice of segments: peaks of the steady step without their ranges, and costs.
struct Measured : PeakFigures {
#define ONNX_MEM_COST(type, member, ...) type member = 0;
#include "include/onnx_mem/figures.inc"
  double flops_slowdown = 0;  // extra multiply-adds, as a fraction of the step's
};

struct PlannedSegment {
  Segment segment;                 // as Run::segments takes it
  std::vector<std::string> nodes;  // of the file, in order
#define ONNX_MEM_SEGMENT(member, ...) int64_t member = 0;
#include "include/onnx_mem/figures.inc"
  int64_t cost = 0;                   // of its re-run, by the cost line
  std::optional<int64_t> stage = {};  // of a pipeline, that runs it
};

struct ModulePlan {
  int64_t id = 0;
  std::string method;  // "none", "sqrt", "chen", "chain", "dag", "hand", "given"
  std::string label;   // for people: "layer1", "7 blocks", "all stages"
  std::vector<PlannedSegment> segments;
  Settings settings = {};  // that the process needs for `measured` to hold
  Measured measured;
  bool dominated = false;  // another plan has no more of either; shown because people choose it by convention
};

enum class PlanStatus { kFeasible, kInfeasible, kNotFound };

// What is proven of all sets of disjoint candidates that a request's granularity allows.
struct ClassBound {
  std::string name;  // "module-level segments"
  int64_t candidates = 0;
  int64_t floor_bytes = 0;      // no plan of the class takes less, on the budget's line
  int64_t constant_bytes = 0;   // nor does one of any other segments
  std::optional<int64_t> cost;  // none within the budget recomputes less (by the cost line); nullopt: there is none
  double gap = 0;               // as PlanAnswer::gap
};

// The best schedule found when any operator may run again at any time, which no framework executes: what could be had
// at most. On live bytes, or with a budget on the device on what the allocator hands out: nothing of its segments.
struct AnySchedule {
  int64_t peak_bytes = 0;
  int64_t recompute_flops = 0;
  int64_t recompute_ns = 0;
  double slowdown = 0;
  bool optimal = false;
};

// What a rank receives from others in a step, on the card of the request's clock.
struct ReceivedBytes {
  TrafficCost without, with;  // the chosen plan
};

// A stage of a pipeline, which is a rank's own.
struct StageNeed {
  int64_t rank = 0;
  std::string module;  // at which it begins; "": the first
  int64_t segments = 0;
  PeakFigures without, with;  // the chosen plan; without one the same
};

// A step over several cards: what the plan's bytes are of, and what a rank sets up with it.
struct SpreadPlan {
  RankLayout layout;
  int64_t micro_batches = 1;
  std::string whose;                           // "rank 0 of 8, which needs most"
  std::vector<std::string> units;              // of fully_shard, but for the root
  std::vector<SplitModule> split;              // of parallelize_module
  std::optional<ReceivedBytes> received = {};  // unset without a chosen plan, or a card that is known
  std::vector<StageNeed> stages = {};          // of a pipeline, those that were planned
  std::vector<std::string> begins = {};        // modules at which its stages begin, but for the first
};

struct PlanAnswer {
  PlanStatus status = PlanStatus::kFeasible;
  Measured baseline;  // nothing checkpointed
  int64_t baseline_forward_flops = 0;
  int64_t baseline_backward_flops = 0;
  std::vector<ModulePlan> plans;  // by falling peak: "none" first, the floor last, no dominated one unless marked
  std::optional<size_t> chosen;   // index into plans
  int64_t minimum_bytes = 0;      // proven: no checkpointing gets below, on the budget's line
  std::string minimum_why;        // the operator that sets it
  // Proven, for the budget: any schedule with this backward order. The one that the cost line counts; the other is 0.
  int64_t lower_bound_recompute_flops = 0;
  int64_t lower_bound_recompute_ns = 0;
  // Unset where that is not proven (a step with checkpoints of its own, or of several micro-batches).
  std::optional<ClassBound> class_bound;
  std::optional<AnySchedule> any_schedule;
  // What the effort did not suffice for, as clauses for people; empty: every method had its turn.
  std::vector<std::string> not_searched;
  bool left_negligible = false;  // segments that free next to nothing were no candidates
  bool optimal = false;          // chosen meets a proven bound of its class
  std::string optimal_class;     // "module-level segments", "all schedules with this backward order"
  std::string infeasible_class;  // of the status: that none of these fits
  double gap = 0;                // (chosen recompute - bound) / (forward + backward + recompute)
  // With a budget, what was found after each method of the ladder, in their order.
  struct MethodResult {
    std::string method;           // "none", "exact", "sqrt", "chen", "chain", "search"
    int64_t work = 0;             // enactments until then; a replay of the allocator counts as several
    std::optional<int64_t> cost;  // of the cheapest plan within the budget, by the cost line; nullopt: none yet
    double gap = 0;               // of that plan, to the bound of its class
  };
  std::vector<MethodResult> method_results;
  // With a budget on the device: what costs less than the chosen plan and fits with the caching allocator's expandable
  // segments, which its settings turn on. Its figures are with them. An offer: a request for that allocator chooses it.
  std::optional<ModulePlan> with_expandable_segments;
  // The same for a card that has no more than the budget, where the allocator gives back its cache before it runs out.
  struct OnSuchACard {
    ModulePlan plan;  // its device_bytes as on a larger card
    LimitedRun run;
  };
  std::optional<OnSuchACard> on_such_a_card;
  // Without an answer: the cheapest plan whose blocks alone would be within the budget, and what it takes.
  std::optional<ModulePlan> fits_but_fragments;
  int64_t context_bytes = 0;         // of CUDA, within all device bytes
  std::optional<SpreadPlan> spread;  // unset on one card
  // Without a plan of whole modules: the one that selective checkpointing has, else the least that it reaches.
  std::optional<ModulePlan> with_op;
  std::vector<Diagnostic> diagnostics;
};

// THE plan of an answer: what every form of a report, emitted code and Python mean. nullptr where none was chosen.
inline const ModulePlan* Chosen(const PlanAnswer& answer) {
  return answer.chosen ? &answer.plans[*answer.chosen] : nullptr;
}

// Plans for the model of `study` under `workload` (training). Where nothing can be wrapped the curve is "none" alone.
// Errors: those of the study; unknown-method; those of `given`.
absl::StatusOr<PlanAnswer> PlanModel(Study& study, const Workload& workload, const PlanRequest& request);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_PLAN_H_
