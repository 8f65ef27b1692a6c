// What a rank receives from the others in one optimizer step, and what moves between it and its host. Collectives run
// in a ring (NCCL's, whose sums take twice what a gather takes), in which a rank sends as much as it receives.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_TRAFFIC_H_
#define ONNX_MEM_ANALYZER_PARALLEL_TRAFFIC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/enact.h"
#include "analyzer/devices/gpus.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/run/layout.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

enum class Collective : uint8_t { kAllGather, kReduceScatter, kAllReduce, kBroadcast, kReceive, kFromHost, kToHost };
std::string_view NameOf(Collective exchange);  // "all-gather"
inline bool IsOfHost(Collective exchange) { return exchange >= Collective::kFromHost; }

struct Traffic {
  Collective exchange = Collective::kAllGather;
  int64_t bytes = 0;
};

// In the order of Collective; what there is none of left out. `step` as RankStep has it.
std::vector<Traffic> TrafficOf(const LocalStep& step, const Run& run, const RankLayout& layout);

// The same at the rates of a card's links, as reached (kReachedLink), within one machine and with nothing that hides
// it.
struct TrafficCost {
  std::vector<Traffic> exchanges;
  int64_t peer_bytes = 0, peer_ns = 0;  // from other cards
  int64_t host_bytes = 0, host_ns = 0;
  std::string card;
  std::string_view peer_link, host_link;  // "NVLink 4", "PCIe 5"
};
TrafficCost CostOf(std::vector<Traffic> traffic, const Gpu& gpu);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_TRAFFIC_H_
