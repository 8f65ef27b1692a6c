#include "planner/measure/segment_limits.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "analyzer/order/stable_sort.h"
#include "planner/measure/index.h"
#include "planner/measure/traced_live.h"
#include "planner/measure/traced_nodes.h"

namespace onnx_mem {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// A buffer that the forward leaves to the backward.
struct HeldBuffer {
  int64_t bytes = 0;
  int32_t maker = 0;            // node
  int32_t begin = 0;            // step
  std::vector<int32_t> savers;  // nodes, rising; one after all nodes if the loss saved it
  bool LetGoBy(const Candidate& c, int32_t last_saver) const { return maker >= c.first && last_saver <= c.last; }
};

class Limiter {
 public:
  Limiter(const FrameworkGraph& graph, const StepTrace& trace, const std::vector<int64_t>& cost, int64_t call_cost,
          int64_t always_bytes)
      : trace_(trace),
        program_(trace.enacted.program),
        cost_(cost),
        call_cost_(call_cost),
        always_bytes_(always_bytes),
        count_(static_cast<int32_t>(graph.nodes.size())),
        nodes_(TraceNodes(trace, graph.nodes.size())),
        own_until_(graph.nodes.size(), -1) {
    FindHeld();
    live_ = LiveInBackward(graph, trace, nodes_, always_bytes_ - uncertain_bytes_);
  }

  SegmentLimits Limits(const std::vector<Candidate>& candidates) {
    SegmentLimits limits;
    limits.loss_live = live_.loss;
    limits.constant_live = ForwardFloor();
    for (const Candidate& c : candidates) {
      saves_.push_back(false);
      limits.ranges.push_back(RangeOf(c));
    }
    std::vector<int64_t> first = live_.first, later = live_.later;
    for (const HeldBuffer& held : held_) LetGoLate(held, candidates, first, later, limits);
    HoldInputs(candidates, limits);
    for (int32_t n = 0; n < count_; ++n) limits.node_live.push_back(std::max(first[Index(n)], later[Index(n)]));
    return limits;
  }

 private:
  // Storages that a node saves without reading or making them (a weight cast once for all) could be freed by ranges
  // together that none frees alone, and those of a node that backward never comes to are made by no second run that
  // skips what nobody reads: they count as not there at all.
  void FindHeld() {
    std::vector<int32_t> entry_of(program_.buffers.size(), -1);
    std::vector<std::pair<BufferId, HeldBuffer>> held;
    for (const SavedTrace& saved : trace_.saved) {
      for (BufferId id : saved.buffers) {
        const int32_t made_by = nodes_.of_step[Index(program_.buffers[id].begin.value())];
        if (made_by < 0 || program_.buffers[id].end.value() >= static_cast<int32_t>(program_.steps.size())) continue;
        const int32_t by = saved.node < 0 ? count_ : saved.node;
        int32_t& at = entry_of[Index(id.value())];
        if (at < 0) {
          at = static_cast<int32_t>(held.size());
          held.emplace_back(id, HeldBuffer());
        }
        HeldBuffer& entry = held[Index(at)].second;
        entry.bytes = program_.buffers[id].bytes;
        entry.maker = made_by;
        entry.begin = program_.buffers[id].begin.value();
        entry.savers.push_back(by);
        if (!saved.begin.valid()) entry.maker = kNever;
        if (by == made_by) own_until_[Index(by)] = std::max(own_until_[Index(by)], entry.begin);
        if (by == count_ || by == made_by) continue;
        const std::vector<BufferId>& read = nodes_.reads[Index(by)];
        if (nodes_.overwritten[Index(by)] == id) own_until_[Index(by)] = nodes_.steps[Index(by)].front().first;
        if (std::find(read.begin(), read.end(), id) == read.end()) entry.maker = kNever;
      }
    }
    std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [id, entry] : held) {
      if (entry.maker == kNever) {
        uncertain_bytes_ += entry.bytes;
        continue;
      }
      std::sort(entry.savers.begin(), entry.savers.end());
      held_.push_back(std::move(entry));
    }
    std::sort(held_.begin(), held_.end(), [](const HeldBuffer& a, const HeldBuffer& b) { return a.maker < b.maker; });
  }

  SegmentLimits::Range RangeOf(const Candidate& c) {
    SegmentLimits::Range range{.first = c.first, .last = c.last};
    int32_t first_saver = kNever, last_saver = -1;
    for (int32_t n = c.first; n <= c.last; ++n) {
      if (!nodes_.is_saver[Index(n)]) continue;
      first_saver = std::min(first_saver, n);
      last_saver = n;
    }
    saves_.back() = last_saver >= 0;
    // The second run stops at the last node that saves: before it computes, unless it saves what it makes.
    bool runs_again = false;
    for (int32_t n = c.first; n <= last_saver; ++n) {
      for (const auto& [begin, end] : nodes_.steps[Index(n)]) {
        for (int32_t s = begin; s < end; ++s) {
          if (Keeps(c, s) || (n == last_saver && s > own_until_[Index(n)])) continue;
          range.cost += cost_[Index(s)];
          runs_again = true;
        }
      }
    }
    if (runs_again) range.cost += call_cost_;
    // Until the first node that saves has released it, the range holds its inputs.
    if (first_saver != kNever) range.live_bytes = AgainAtFirst(live_, first_saver);
    for (int32_t n = first_saver; n != kNever && ++n <= c.last;) {
      range.live_bytes = std::max(range.live_bytes, AgainAtMost(live_, c.first, n));
    }
    const auto made_before = [](const HeldBuffer& held, int32_t node) { return held.maker < node; };
    auto held = std::lower_bound(held_.begin(), held_.end(), c.first, made_before);
    for (; held != held_.end() && held->maker <= c.last; ++held) {
      if (held->LetGoBy(c, held->savers.back()) && !Keeps(c, held->begin)) range.frees_bytes += held->bytes;
    }
    return range;
  }

  bool Keeps(const Candidate& c, int32_t step) const {
    const auto& keep = c.segment.keep;
    return std::find(keep.begin(), keep.end(), program_.steps[StepId(step)].op) != keep.end();
  }

  // What a range frees only once nodes behind it have run their backward: taken from what is alive then.
  void LetGoLate(const HeldBuffer& held, const std::vector<Candidate>& candidates, std::vector<int64_t>& first,
                 std::vector<int64_t>& later, SegmentLimits& limits) const {
    std::vector<std::pair<int32_t, int32_t>> late;  // nodes between two savers, and the second: only the first holds it
    for (size_t k = 0; k + 1 < held.savers.size(); ++k) {
      int32_t from = kNever;
      for (const Candidate& c : candidates) {
        if (!held.LetGoBy(c, held.savers[k]) || c.last >= held.savers[k + 1]) continue;
        from = std::min(from, std::max(held.savers[k], c.last) + 1);
      }
      if (from <= held.savers[k + 1] && from < count_)
        late.emplace_back(from, std::min(held.savers[k + 1], count_ - 1));
    }
    if (late.empty()) return;
    for (const auto& [from, to] : late) {
      for (int32_t n = from; n <= to; ++n) {
        later[Index(n)] -= held.bytes;
        if (!std::binary_search(held.savers.begin(), held.savers.end(), n)) first[Index(n)] -= held.bytes;
      }
    }
    for (SegmentLimits::Range& range : limits.ranges) {
      // A range that saves it reads it, and holds it until its own backward has ended.
      const bool holds = std::any_of(held.savers.begin(), held.savers.end(),
                                     [&](int32_t s) { return s >= range.first && s <= range.last; });
      const bool runs_then = std::any_of(late.begin(), late.end(), [&](const auto& span) {
        return span.first <= range.last && range.first <= span.second;
      });
      if (!holds && runs_then) range.live_bytes -= held.bytes;
    }
  }

  // The most that is alive in the first forward because of what is read later there, whatever backward needs: no
  // segment changes that.
  int64_t ForwardFloor() const {
    std::vector<int32_t> read_until(program_.buffers.size(), -1);  // by buffer: the step in which it is read last
    for (const NodeTrace& node : trace_.forward) {
      const int32_t step = node.begin < node.end ? node.begin.value() : node.begin.value() - 1;  // none: a view
      for (BufferId id : node.reads) {
        int32_t& until = read_until[Index(id.value())];
        until = std::max(until, step);
      }
    }
    std::vector<int64_t> change(program_.steps.size() + 1, 0);
    int64_t live = always_bytes_, most = 0;
    for (BufferId id(0); program_.buffers.contains(id); id = BufferId(id.value() + 1)) {
      const Buffer& buffer = program_.buffers[id];
      const int32_t begin = buffer.begin.value(), end = read_until[Index(id.value())];
      const bool made_in_forward = nodes_.of_step[Index(begin)] >= 0;
      if (begin == 0 && !made_in_forward && !program_.steps.contains(buffer.end)) {
        live += buffer.bytes;
      } else if (made_in_forward && end >= begin && buffer.end.value() > end) {
        change[Index(begin)] += buffer.bytes;
        change[Index(end) + 1] -= buffer.bytes;
      }
    }
    for (int32_t s = 0; s < live_.forward_steps; ++s) most = std::max(most, live += change[Index(s)]);
    return most;
  }

  // Buffers that are gone by the end of the forward, unless a range reads them from outside.
  void HoldInputs(const std::vector<Candidate>& candidates, SegmentLimits& limits) const {
    std::vector<std::pair<BufferId, int32_t>> reads;  // by node, then by buffer
    for (const NodeTrace& node : trace_.forward) {
      for (BufferId id : node.reads) {
        if (program_.buffers[id].end.value() <= live_.forward_steps) reads.emplace_back(id, node.node);
      }
    }
    StableSort(reads, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<size_t> by_first(candidates.size());
    std::iota(by_first.begin(), by_first.end(), size_t{0});
    std::sort(by_first.begin(), by_first.end(),
              [&](size_t a, size_t b) { return candidates[a].first < candidates[b].first; });
    std::vector<int32_t> nodes;
    for (auto read = reads.begin(); read != reads.end();) {
      const BufferId id = read->first;
      for (nodes.clear(); read != reads.end() && read->first == id; ++read) nodes.push_back(read->second);
      const int32_t maker = nodes_.of_step[Index(program_.buffers[id].begin.value())];
      if (maker < 0) continue;
      std::vector<size_t> holders;
      auto at = std::partition_point(by_first.begin(), by_first.end(),
                                     [&](size_t i) { return candidates[i].first <= maker; });
      for (; at != by_first.end() && candidates[*at].first <= nodes.back(); ++at) {
        const auto reader = std::lower_bound(nodes.begin(), nodes.end(), candidates[*at].first);
        if (*reader <= candidates[*at].last && saves_[*at]) holders.push_back(*at);
      }
      const int64_t share = holders.empty() ? 0 : program_.buffers[id].bytes / MostDisjoint(candidates, holders);
      for (size_t i : holders) {
        limits.ranges[i].frees_bytes -= share;
        limits.ranges[i].live_bytes += share;
      }
    }
  }

  static int64_t MostDisjoint(const std::vector<Candidate>& candidates, std::vector<size_t> some) {
    std::sort(some.begin(), some.end(), [&](size_t a, size_t b) { return candidates[a].last < candidates[b].last; });
    int64_t count = 0;
    int32_t next = 0;
    for (size_t i : some) {
      if (candidates[i].first < next) continue;
      next = candidates[i].last + 1;
      ++count;
    }
    return count;
  }

  const StepTrace& trace_;
  const MemoryProgram& program_;
  const std::vector<int64_t>& cost_;
  int64_t call_cost_;
  int64_t always_bytes_;
  int32_t count_;
  TracedNodes nodes_;
  std::vector<int32_t> own_until_;  // by node: the last step that makes or overwrites what the node itself saves; -1
  std::vector<bool> saves_;         // by candidate: some node of it saves something
  std::vector<HeldBuffer> held_;    // rising makers
  int64_t uncertain_bytes_ = 0;
  TracedLive live_;
};

}  // namespace

SegmentLimits LimitsOf(const FrameworkGraph& graph, const StepTrace& trace, const std::vector<int64_t>& cost,
                       int64_t call_cost, int64_t always_bytes, const std::vector<Candidate>& candidates) {
  return Limiter(graph, trace, cost, call_cost, always_bytes).Limits(candidates);
}

}  // namespace onnx_mem
