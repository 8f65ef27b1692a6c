#include "solver/methods/segments.h"

#include <algorithm>
#include <array>
#include <set>

namespace onnx_mem {
namespace {

constexpr std::array kWeights = {SegmentWeight::kCount, SegmentWeight::kBytes, SegmentWeight::kCost};
constexpr int kSweepSteps = 64;

int64_t WeightOf(const ChainBlock& block, SegmentWeight weight) {
  switch (weight) {
    case SegmentWeight::kCount: break;
    case SegmentWeight::kBytes: return block.savings.front().saved_bytes;
    case SegmentWeight::kCost: return block.run_cost;
  }
  return 1;
}

std::vector<int64_t> Weights(const Chain& chain, SegmentWeight weight) {
  std::vector<int64_t> weights;
  for (const ChainBlock& block : chain.blocks) weights.push_back(WeightOf(block, weight));
  return weights;
}

// Closes a segment before the block with which it would outgrow `most`.
SegmentStarts Greedy(const std::vector<int64_t>& weights, int64_t most) {
  SegmentStarts starts = {0};
  int64_t sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (i > 0 && sum + weights[i] > most) {
      starts.push_back(static_cast<int>(i));
      sum = 0;
    }
    sum += weights[i];
  }
  return starts;
}

// The largest p of 16, 8, 4, ... with which growing by 1/p a time leads from `least` to `most` in kSweepSteps.
int64_t GrowthPart(int64_t least, int64_t most) {
  for (int64_t part = 16; part > 1; part /= 2) {
    int64_t value = least;
    for (int step = 1; step < kSweepSteps; ++step) value += std::max<int64_t>(1, value / part);
    if (value >= most) return part;
  }
  return 1;
}

// Offers the cuts that fit, the cheapest first, until one is taken.
void OfferCheapest(const Chain& chain, const std::set<SegmentStarts>& cuts, std::string_view method,
                   const PlanningTask& task, Incumbent& incumbent) {
  std::vector<std::pair<int64_t, const SegmentStarts*>> fitting;
  for (const SegmentStarts& starts : cuts) {
    const SegmentMeasure measure = MeasureSegments(chain, starts);
    if (measure.peak_bytes <= task.budget_bytes) fitting.emplace_back(measure.cost, &starts);
  }
  std::stable_sort(fitting.begin(), fitting.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!fitting.empty()) incumbent.Offer(RunsOfSegments(chain, *fitting.front().second), method);
}

}  // namespace

SegmentStarts SqrtSegments(const Chain& chain, SegmentWeight weight) {
  const std::vector<int64_t> weights = Weights(chain, weight);
  int64_t total = 0;
  for (int64_t value : weights) total += value;
  int64_t segments = 1;
  while (segments * segments < chain.size()) ++segments;
  SegmentStarts starts = {0};
  int64_t sum = 0;
  for (int i = 0; i + 1 < chain.size(); ++i) {
    sum += weights[i];
    const auto closed = static_cast<int64_t>(starts.size());
    if (closed < segments && sum >= total / segments * closed) starts.push_back(i + 1);
  }
  return starts;
}

std::vector<SegmentStarts> SweepSegments(const Chain& chain, SegmentWeight weight) {
  const std::vector<int64_t> weights = Weights(chain, weight);
  const int64_t least = std::max<int64_t>(1, *std::max_element(weights.begin(), weights.end()));
  int64_t total = 0;
  for (int64_t value : weights) total += value;
  std::vector<SegmentStarts> result;
  const int64_t part = GrowthPart(least, total);
  for (int64_t most = least;; most += std::max<int64_t>(1, most / part)) {
    SegmentStarts starts = Greedy(weights, most);
    if (result.empty() || starts != result.back()) result.push_back(std::move(starts));
    if (result.back().size() == 1) break;
  }
  return result;
}

OpSequence RunsOfSegments(const Chain& chain, const SegmentStarts& starts) {
  OpSequence runs;
  const auto append = [&](const OpSequence& more) { runs.insert(runs.end(), more.begin(), more.end()); };
  for (int i = 0; i < chain.size(); ++i) {
    append(i < starts.back() ? chain.blocks[i].run : chain.blocks[i].savings.front().forward);
  }
  int end = chain.size();
  for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
    if (start != starts.rbegin()) {
      for (int i = *start; i < end; ++i) append(chain.blocks[i].savings.front().forward);
    }
    for (int i = end; i-- > *start;) append(chain.blocks[i].savings.front().backward);
    end = *start;
  }
  return runs;
}

SegmentMeasure MeasureSegments(const Chain& chain, const SegmentStarts& starts) {
  SegmentMeasure measure;
  const auto raise = [&](int64_t bytes) { measure.peak_bytes = std::max(measure.peak_bytes, bytes); };
  std::vector<int64_t> kept(starts.size(), 0);  // bytes of the cuts up to that segment's start
  int64_t kept_bytes = 0;
  size_t segment = 0;
  for (int i = 0; i < starts.back(); ++i) {
    const bool is_start = segment + 1 < starts.size() && i == starts[segment + 1];
    if (is_start) kept[++segment] = kept_bytes += chain.blocks[i - 1].output_bytes;
    const bool input_is_kept = i == 0 || is_start;
    raise(chain.blocks.back().gap_bytes + kept_bytes + (input_is_kept ? 0 : chain.blocks[i - 1].output_bytes) +
          chain.blocks[i].run_bytes);
    measure.cost += chain.blocks[i].run_cost;
  }
  if (starts.size() > 1) kept.back() = kept_bytes + chain.blocks[starts.back() - 1].output_bytes;
  for (size_t s = starts.size(); s-- > 0;) {
    const int end = s + 1 < starts.size() ? starts[s + 1] : chain.size();
    int64_t saved = kept[s];
    for (int i = starts[s]; i < end; ++i) {
      const ChainSaving& saving = chain.blocks[i].savings.front();
      raise(chain.blocks[end - 1].gap_bytes + saved + saving.forward_bytes);
      raise(saved + saving.backward_bytes);
      saved += saving.saved_bytes;
      measure.cost += saving.cost;
    }
  }
  return measure;
}

void PlanSqrt(const PlanningTask& task, Incumbent& incumbent) {
  const std::optional<Chain> chain = ExtractChain(task.graph, task.problem);
  if (!chain) return;
  std::set<SegmentStarts> cuts;
  for (SegmentWeight weight : kWeights) cuts.insert(SqrtSegments(*chain, weight));
  OfferCheapest(*chain, cuts, "sqrt", task, incumbent);
}

void PlanChen(const PlanningTask& task, Incumbent& incumbent) {
  const std::optional<Chain> chain = ExtractChain(task.graph, task.problem);
  if (!chain) return;
  std::set<SegmentStarts> cuts;
  for (SegmentWeight weight : kWeights) {
    for (SegmentStarts& starts : SweepSegments(*chain, weight)) cuts.insert(std::move(starts));
  }
  OfferCheapest(*chain, cuts, "chen", task, incumbent);
}

}  // namespace onnx_mem
