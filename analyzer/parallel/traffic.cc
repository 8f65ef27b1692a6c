#include "analyzer/parallel/traffic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analyzer/devices/link.h"
#include "analyzer/devices/roofline.h"
#include "analyzer/memory/made_by_a_step.h"

namespace onnx_mem {
namespace {

constexpr size_t kNumExchanges = 7;
using Received = std::array<int64_t, kNumExchanges>;

enum class Among : uint8_t { kData, kTensor, kStages };

// Steps that exchange something, by what they allocate last: the result.
struct StepRow {
  std::string_view op;
  Collective exchange;
  Among among;
};
constexpr auto kSteps = std::to_array<StepRow>({
    {"all_gather", Collective::kAllGather, Among::kData},
    {"reduce_scatter", Collective::kReduceScatter, Among::kData},
    {"all_gather_into_tensor", Collective::kAllGather, Among::kTensor},
    {"reduce_scatter_tensor", Collective::kReduceScatter, Among::kTensor},
    {"all_reduce", Collective::kAllReduce, Among::kTensor},
    {"recv", Collective::kReceive, Among::kStages},
});

// A unit whose parameters went to a smaller mesh behind its forward is gathered from there.
int64_t RanksAmong(Among among, const RankLayout& layout, Phase phase) {
  const bool smaller = layout.reshard == Reshard::kToSmallerMesh && phase == Phase::kBackward;
  switch (among) {
    case Among::kData: return smaller ? layout.reshard_ranks : layout.ranks;
    case Among::kTensor: return layout.tensor.ranks;
    case Among::kStages: break;
  }
  return layout.pipeline.ranks;
}

// Of a result of `bytes`.
int64_t ReceivedFor(Collective exchange, int64_t bytes, int64_t ranks) {
  switch (exchange) {
    case Collective::kAllGather: return bytes / ranks * (ranks - 1);
    case Collective::kReduceScatter: return bytes * (ranks - 1);
    case Collective::kAllReduce: return 2 * (bytes - bytes / ranks);
    default: return bytes;
  }
}

void Add(Received& received, Collective exchange, int64_t bytes) { received[static_cast<size_t>(exchange)] += bytes; }

struct Results {
  int64_t first_bytes = 0, last_bytes = 0, all_bytes = 0;  // of what a step allocates
};

std::vector<Results> ResultsOf(const MemoryProgram& program) {
  std::vector<Results> results(program.steps.size());
  for (const Buffer& buffer : program.buffers) {
    if (!program.steps.contains(buffer.begin) || !MadeByAStep(buffer)) continue;
    Results& of = results[buffer.begin.index()];
    if (of.all_bytes == 0) of.first_bytes = buffer.bytes;
    of.last_bytes = buffer.bytes;
    of.all_bytes += buffer.bytes;
  }
  return results;
}

class Counter {
 public:
  Counter(const MemoryProgram& program, const Run& run, const RankLayout& layout)
      : program_(program), layout_(layout), later_(LaterMicroSteps(program)), later_runs_(run.accumulate - 1) {}

  Received Count() {
    const std::vector<Results> results = ResultsOf(program_);
    for (StepId id(0); program_.steps.contains(id); id = StepId(id.value() + 1)) {
      for (const StepRow& row : kSteps) {
        if (program_.steps[id].op == row.op) AddStep(row, id, results[id.index()]);
      }
    }
    return received_;
  }

 private:
  // A step stands for itself, or for that of all later micro-steps, where the program does not have each of them.
  int64_t RunsOf(StepId id) const {
    const bool has_all = layout_.data == DataParallel::kFsdp || IsPipeline(layout_);
    return !has_all && later_.begin <= id && id < later_.end ? later_runs_ : 1;
  }

  void AddStep(const StepRow& row, StepId id, const Results& result) {
    const bool gathers = row.exchange == Collective::kAllGather;
    const int64_t bytes = row.exchange == Collective::kReceive ? result.all_bytes : result.last_bytes;
    const bool back = gathers && program_.steps[id].phase == Phase::kBackward;
    const int64_t ranks = RanksAmong(row.among, layout_, back ? Phase::kBackward : Phase::kForward);
    Add(received_, row.exchange, RunsOf(id) * ReceivedFor(row.exchange, bytes, ranks));
    if (row.among != Among::kData) return;
    if (layout_.host) Add(received_, gathers ? Collective::kFromHost : Collective::kToHost, result.first_bytes);
    // Among copies the reduced shards are summed up.
    if (!gathers)
      Add(received_, Collective::kAllReduce, ReceivedFor(Collective::kAllReduce, result.last_bytes, layout_.replicas));
  }

  const MemoryProgram& program_;
  const RankLayout& layout_;
  StepSpan later_;
  int64_t later_runs_;
  Received received_ = {};
};

// DistributedDataParallel sums gradients once a step, or in each micro-batch; it sends its buffers before each forward.
// ZeroRedundancyOptimizer sends each parameter from its owner to all others.
void AddDdp(const LocalStep& step, const Run& run, const RankLayout& layout, Received& received) {
  if (layout.ranks == 1) return;
  const int64_t whole = step.summed_bytes;
  const int64_t sums = layout.sync_every ? run.accumulate : 1;
  Add(received, Collective::kAllReduce, sums * ReceivedFor(Collective::kAllReduce, whole, layout.ranks));
  if (!step.program->steps.empty() && step.program->steps[StepId(0)].op == "broadcast") {
    for (const Buffer& buffer : step.program->buffers) {
      const bool copy = buffer.category == Category::kCommunication && buffer.end == StepId(1);
      if (copy) Add(received, Collective::kBroadcast, run.accumulate * buffer.bytes);
    }
  }
  if (layout.data == DataParallel::kZero1) Add(received, Collective::kBroadcast, whole - TrainedBytes(step.trained));
}

// Of a rank: of DDP one, whose gradients are summed; of FSDP2 one that gathers and scatters, and of HSDP one more among
// the copies; of tensor parallelism one; of a pipeline one, with a neighbour on either side.
std::vector<Communicator> CommunicatorsOf(const RankLayout& layout) {
  std::vector<Communicator> groups;
  const bool fsdp = layout.data == DataParallel::kFsdp;
  if (layout.data != DataParallel::kNone && layout.ranks > 1) groups.push_back({.all_reduces = !fsdp});
  if (layout.replicas > 1) groups.push_back({.all_reduces = true});
  if (IsTensorParallel(layout)) groups.push_back({.all_reduces = !layout.tensor.sequence});
  if (IsPipeline(layout)) {
    groups.push_back({.all_reduces = false, .neighbours = std::min<int64_t>(layout.pipeline.ranks - 1, 2)});
  }
  return groups;
}

}  // namespace

std::string_view NameOf(Collective exchange) {
  switch (exchange) {
    case Collective::kAllGather: return "all-gather";
    case Collective::kReduceScatter: return "reduce-scatter";
    case Collective::kAllReduce: return "all-reduce";
    case Collective::kBroadcast: return "broadcast";
    case Collective::kReceive: return "receive";
    case Collective::kFromHost: return "from the host";
    case Collective::kToHost: break;
  }
  return "to the host";
}

std::vector<Traffic> TrafficOf(const LocalStep& step, const Run& run, const RankLayout& layout) {
  Received received = Counter(*step.program, run, layout).Count();
  const bool ddp = layout.data == DataParallel::kDdp || layout.data == DataParallel::kZero1;
  if (ddp) AddDdp(step, run, layout, received);
  std::vector<Traffic> traffic;
  for (size_t i = 0; i < kNumExchanges; ++i) {
    if (received[i] > 0) traffic.push_back({static_cast<Collective>(i), received[i]});
  }
  return traffic;
}

TrafficCost CostOf(std::vector<Traffic> traffic, const Gpu& gpu) {
  const CardLink peers = PeerLinkOf(gpu), host = HostLinkOf(gpu);
  TrafficCost cost;
  cost.card = gpu.name;
  cost.peer_link = peers.name;
  cost.host_link = host.name;
  for (const Traffic& each : traffic) (IsOfHost(each.exchange) ? cost.host_bytes : cost.peer_bytes) += each.bytes;
  const auto time = [](int64_t bytes, const CardLink& link) {
    constexpr double kNanoseconds = 1e9;
    const double rate = link.bandwidth * kReachedLink;
    return rate > 0 ? std::llround(static_cast<double>(bytes) / rate * kNanoseconds) : 0;
  };
  cost.peer_ns = time(cost.peer_bytes, peers);
  cost.host_ns = time(cost.host_bytes, host);
  cost.exchanges = std::move(traffic);
  return cost;
}

Overhead CommunicatorBuffers(const RankLayout& layout) {
  Overhead sum;
  for (const Communicator& group : CommunicatorsOf(layout)) {
    const Overhead one = BuffersOf(group);
    sum.bytes += one.bytes;
    sum.low_bytes += one.low_bytes;
    sum.high_bytes += one.high_bytes;
  }
  return sum;
}

}  // namespace onnx_mem
