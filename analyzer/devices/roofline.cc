#include "analyzer/devices/roofline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analyzer/devices/link.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// Cards whose double precision runs at half the rate of single; the others are at 1/32 or 1/64.
bool IsDoublePrecisionCard(const Gpu& gpu) {
  constexpr std::string_view kCapabilities[] = {"6.0", "7.0", "8.0", "9.0", "10.0"};
  return std::find(std::begin(kCapabilities), std::end(kCapabilities), gpu.compute_capability) !=
             std::end(kCapabilities) ||
         gpu.architecture.starts_with("CDNA");
}

// Cards of Volta and Turing have tensor cores, but none for TF32: their fp32 rate is no stand-in.
bool HasTf32(const Gpu& gpu) {
  return gpu.tf32_tflops || gpu.architecture == "Ampere" || gpu.architecture == "Ada" || gpu.architecture == "Hopper" ||
         gpu.architecture == "Blackwell";
}

double RateOf(const Step& step, const RooflineCard& card) {
  switch (step.dtype) {
    case DType::kFloat16: return card.fp16_flops;
    case DType::kBFloat16: return card.bf16_flops;
    case DType::kFloat64: return card.fp64_flops;
    default: return step.tf32 ? card.tf32_flops : card.fp32_flops;
  }
}

bool UsesRate(const Step& step, const RooflineCard::StandIn& rate) {
  return step.flops > 0 && step.dtype == rate.dtype && (step.dtype != DType::kFloat32 || step.tf32 == rate.tf32);
}

bool IsIn(const Step& step, const MeasuredTime& time) {
  if (step.phase != time.phase) return false;
  if (!time.is_module) return step.node == time.place;
  return IsInside(step.module, time.place);
}

// The larger, the closer to one operator.
size_t Closeness(const MeasuredTime& time) {
  if (!time.is_module) return std::string::npos;
  return time.place.empty() ? 0 : 1 + static_cast<size_t>(std::count(time.place.begin(), time.place.end(), '.'));
}

// Deals `total` out to `steps` in proportion to what they were thought to take; the sum is exact.
void Deal(int64_t total, absl::Span<const size_t> steps, std::vector<StepTime>& times) {
  double weight = 0;
  for (size_t i : steps) weight += static_cast<double>(times[i].nanoseconds);
  double before = 0;
  int64_t dealt = 0;
  for (size_t k = 0; k < steps.size(); ++k) {
    StepTime& time = times[steps[k]];
    before += weight > 0 ? static_cast<double>(time.nanoseconds) / weight : 1.0 / static_cast<double>(steps.size());
    const int64_t until =
        k + 1 == steps.size() ? total : std::min<int64_t>(total, std::llround(before * static_cast<double>(total)));
    time.nanoseconds = until - dealt;
    time.measured = true;
    dealt = until;
  }
}

bool IsIn(StepSpan span, StepId step) { return span.begin <= step && step < span.end; }

// A recomputed step takes what the same operator of the same node took in forward, a step of a later micro-step what it
// took in the first one.
void CopyToReruns(const MemoryProgram& program, StepSpan later, std::vector<StepTime>& times) {
  using Key = std::tuple<std::string_view, std::string_view, Phase>;
  absl::flat_hash_map<Key, StepTime> first;
  for (size_t i = 0; i < times.size(); ++i) {
    const StepId id(static_cast<int32_t>(i));
    const Step& step = program.steps[id];
    const Key key(step.node, step.op, step.recompute ? Phase::kForward : step.phase);
    if (!step.recompute && !IsIn(later, id)) {
      first.emplace(key, times[i]);
    } else if (const auto it = first.find(key); it != first.end()) {
      times[i] = it->second;
    }
  }
}

void AddCheckpointCalls(const MemoryProgram& program, int64_t call_ns, std::vector<StepTime>& times) {
  bool before = false;
  for (size_t i = 0; i < times.size(); ++i) {
    const bool again = program.steps[StepId(static_cast<int32_t>(i))].recompute;
    if (again && !before) {
      times[i].nanoseconds += call_ns;
      times[i].call_ns = call_ns;
    }
    before = again;
  }
}

void AddMoves(const MemoryProgram& program, const RooflineCard& card, std::vector<StepTime>& times) {
  double now = 0, link_free = 0;
  absl::flat_hash_map<int32_t, double> ends;
  for (size_t i = 0; i < times.size(); ++i) {
    const StepId id(static_cast<int32_t>(i));
    const Step& step = program.steps[id];
    if (step.link_bytes > 0) {
      times[i] = {.nanoseconds = card.launch_ns, .bound = Bound::kLaunch, .link = true};
      const double takes =
          card.link_bandwidth > 0 ? static_cast<double>(step.link_bytes) / card.link_bandwidth * kGiga : 0;
      link_free = std::max(link_free, now) + takes;
      ends[id.value()] = link_free;
    } else if (step.waits_for.valid()) {
      const double left = std::max(0.0, ends[step.waits_for.value()] - now);
      times[i] = {.nanoseconds = std::llround(left), .bound = Bound::kBandwidth, .link = true};
    }
    now += static_cast<double>(times[i].nanoseconds);
  }
}

void Repeat(StepSpan later, int64_t count, std::vector<StepTime>& times) {
  for (StepId id = later.begin; id < later.end; id = StepId(id.value() + 1)) {
    times[id.index()].nanoseconds *= count;
    times[id.index()].call_ns *= count;
  }
}

}  // namespace

StepSpan LaterMicroSteps(const MemoryProgram& program) {
  StepSpan later{program.steps.next_id(), program.steps.next_id()};
  bool backward = false;
  for (StepId id(0); program.steps.contains(id); id = StepId(id.value() + 1)) {
    const Step& step = program.steps[id];
    backward = backward || step.phase == Phase::kBackward;
    if (step.phase == Phase::kOptimizer) {
      later.end = std::min(later.end, id);
      later.begin = std::min(later.begin, later.end);
      break;
    }
    if (backward && step.phase == Phase::kForward && !step.recompute) later.begin = std::min(later.begin, id);
  }
  return later;
}

absl::StatusOr<RooflineCard> RooflineOf(const Gpu& gpu) {
  const std::optional<double> tensor = gpu.fp16_tflops ? gpu.fp16_tflops : gpu.bf16_tflops;
  if (!gpu.bandwidth_gbps || (!gpu.fp32_tflops && !tensor)) {
    return ErrorStatus(absl::StatusCode::kNotFound, Code::kNoRates,
                       absl::StrCat("no bandwidth or no arithmetic rate is known of ", gpu.name));
  }
  RooflineCard card;
  card.name = gpu.name;
  card.link_bandwidth = HostLinkOf(gpu).bandwidth * kReachedLink;
  card.bandwidth = *gpu.bandwidth_gbps * kGiga * kReachedBandwidth;
  const auto rate = [&](const std::optional<double>& known, double fallback, RooflineCard::StandIn stand_in) {
    if (!known) card.stand_ins.push_back(std::move(stand_in));
    return known ? *known * kTera * kReachedCompute : fallback;
  };
  // Without a figure: the ratio of tensor to plain rates of data center cards of the time.
  card.fp32_flops = rate(gpu.fp32_tflops, tensor.value_or(0) * kTera * kReachedCompute / 16,
                         {DType::kFloat32, false, "fp32 at 1/16 of the fp16 tensor rate"});
  const std::optional<double> tf32 = HasTf32(gpu) ? gpu.tf32_tflops : gpu.fp32_tflops;
  card.tf32_flops = rate(tf32, card.fp32_flops, {DType::kFloat32, true, "TF32 at the fp32 rate"});
  card.fp16_flops = rate(tensor, card.fp32_flops, {DType::kFloat16, false, "fp16 at the fp32 rate"});
  card.bf16_flops = rate(gpu.bf16_tflops, card.fp32_flops, {DType::kBFloat16, false, "bf16 at the fp32 rate"});
  card.fp64_flops = card.fp32_flops / (IsDoublePrecisionCard(gpu) ? 2 : 32);
  return card;
}

RooflineCard DefaultRoofline() {
  const absl::StatusOr<Gpu> gpu = FindGpu(kDefaultCard);
  absl::StatusOr<RooflineCard> card = gpu.ok() ? RooflineOf(*gpu) : gpu.status();
  return card.ok() ? *std::move(card) : RooflineCard{};
}

std::string_view NameOf(Bound bound) {
  switch (bound) {
    case Bound::kNothing: return "nothing";
    case Bound::kCompute: return "compute";
    case Bound::kBandwidth: return "bandwidth";
    case Bound::kLaunch: return "launch";
  }
  return "";
}

StepTime TimeOf(const Step& step, const RooflineCard& card) {
  if (step.flops <= 0 && step.moved_bytes <= 0) return {};
  const double rate = RateOf(step, card);
  const double compute = rate > 0 ? static_cast<double>(step.flops) / rate * kGiga : 0;
  const double traffic = card.bandwidth > 0 ? static_cast<double>(step.moved_bytes) / card.bandwidth * kGiga : 0;
  const auto launch = static_cast<double>(card.launch_ns);
  if (compute >= traffic && compute >= launch) return {std::llround(compute), Bound::kCompute};
  if (traffic >= launch) return {std::llround(traffic), Bound::kBandwidth};
  return {card.launch_ns, Bound::kLaunch};
}

std::vector<StepTime> StepTimes(const MemoryProgram& program, const RooflineCard& card,
                                const std::vector<MeasuredTime>& measured, std::vector<size_t>* unmatched,
                                int64_t micro_steps) {
  const StepSpan later = LaterMicroSteps(program);
  std::vector<StepTime> times;
  times.reserve(program.steps.size());
  for (const Step& step : program.steps) times.push_back(TimeOf(step, card));
  if (measured.empty()) {
    AddCheckpointCalls(program, card.checkpoint_call_ns, times);
    AddMoves(program, card, times);
    Repeat(later, std::max<int64_t>(micro_steps - 1, 1), times);
    return times;
  }
  std::vector<size_t> order(measured.size());
  std::iota(order.begin(), order.end(), size_t{0});
  StableSort(order, [&](size_t a, size_t b) { return Closeness(measured[a]) < Closeness(measured[b]); });
  for (size_t row : order) {
    std::vector<size_t> steps;
    for (size_t i = 0; i < times.size(); ++i) {
      const StepId id(static_cast<int32_t>(i));
      const Step& step = program.steps[id];
      if (!step.recompute && !IsIn(later, id) && IsIn(step, measured[row])) steps.push_back(i);
    }
    if (steps.empty() && unmatched != nullptr) unmatched->push_back(row);
    Deal(measured[row].nanoseconds, steps, times);
  }
  CopyToReruns(program, later, times);
  AddCheckpointCalls(program, card.checkpoint_call_ns, times);
  AddMoves(program, card, times);
  Repeat(later, std::max<int64_t>(micro_steps - 1, 1), times);
  return times;
}

TimeEstimate EstimateTime(const MemoryProgram& program, const RooflineCard& card,
                          const std::vector<MeasuredTime>& measured, int64_t micro_steps) {
  TimeEstimate estimate;
  estimate.card = card.name;
  const std::vector<StepTime> times = StepTimes(program, card, measured, nullptr, micro_steps);
  std::vector<bool> used(card.stand_ins.size(), false);
  for (size_t i = 0; i < times.size(); ++i) {
    const Step& step = program.steps[StepId(static_cast<int32_t>(i))];
    const StepTime& time = times[i];
    for (size_t k = 0; k < used.size(); ++k) used[k] = used[k] || UsesRate(step, card.stand_ins[k]);
    const auto share_of = [&]() -> int64_t& {
      if (time.link) return estimate.offload_ns;
      if (step.phase == Phase::kLoss) return estimate.loss_ns;
      if (step.phase == Phase::kOptimizer) return estimate.optimizer_ns;
      if (step.recompute) return estimate.recompute_ns;
      return step.phase == Phase::kForward ? estimate.forward_ns : estimate.backward_ns;
    };
    share_of() += time.nanoseconds;
    estimate.step_ns += time.nanoseconds;
    estimate.by_bound_ns[static_cast<size_t>(time.bound)] += time.nanoseconds;
    if (time.measured) estimate.measured_ns += time.nanoseconds - time.call_ns;
  }
  for (size_t k = 0; k < used.size(); ++k) {
    if (used[k]) estimate.assumptions.push_back(card.stand_ins[k].text);
  }
  const auto most = std::max_element(estimate.by_bound_ns.begin(), estimate.by_bound_ns.end());
  if (*most > 0) estimate.bound = static_cast<Bound>(most - estimate.by_bound_ns.begin());
  return estimate;
}

}  // namespace onnx_mem
