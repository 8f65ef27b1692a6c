#include "analyzer/allocators/packing_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "analyzer/allocators/packing_order.h"
#include "analyzer/allocators/packing_sections.h"

namespace onnx_mem {
namespace {

constexpr double kWeightGrowth = 1.001;  // of the blame that a refuted placement gives: recent trouble counts more
constexpr double kWeightLimit = 1e100;
constexpr double kFirstNodesPerBuffer = 2;  // of the first try; later ones get more
constexpr double kRestartGrowth = 0.08;
constexpr int kMaxRaiseRounds = 3;

enum class Outcome { kFound, kNone, kOutOfNodes };

class Search {
 public:
  Search(std::span<const LiveRange> ranges, int64_t height_bytes, int64_t& work);
  std::optional<std::vector<int64_t>> Run();

 private:
  using Items = std::vector<int>;  // sorted by first section

  Outcome SolveParts(const Items& items, int64_t offset, int rank);
  Outcome Solve(const Items& items, int64_t offset, int rank);
  Outcome Try(int item, const Items& items);
  int NextCandidate(const Items& items, int64_t offset, int rank, int64_t limit) const;
  int64_t HighestUsefulOffset(const Items& items) const;
  bool FitsItsSections(int item) const;

  // Raises lowest offsets as far as the sections force them. A section that cannot be filled, or -1.
  int Refute(const Items& items, int64_t offset, int changed_first, int changed_last);
  int RefuteOnce(const Items& by_offset, int64_t offset, int first, int last);
  void RaiseThoseAfter(std::span<const int> by_offset, int first, int last);
  void Raise(int item, int64_t offset);
  void Blame(const Items& items, int section);

  std::vector<PackingItem> items_;
  std::vector<std::vector<int>> overlaps_;
  int64_t height_;
  int64_t& work_;
  int64_t nodes_left_ = 0;

  // State of the search, undone on the way back.
  std::vector<int64_t> lowest_;     // per item: top of what is placed below it
  std::vector<int64_t> remaining_;  // per section: bytes not placed yet
  std::vector<char> placed_;
  struct Change {
    int item;
    int64_t lowest;
  };
  std::vector<Change> changes_;

  std::vector<int> rank_;
  std::vector<double> weights_;
  double weight_step_ = 1;
  std::vector<int64_t> solution_;

  // While refuting.
  struct Section {
    int64_t sum = 0;         // bytes of the items seen, in falling order of lowest offset
    int64_t bound = 0;       // largest lowest offset + sum seen: where they can end at the earliest
    int64_t bound_at = 0;    // the lowest offset for which that was
    int64_t after_from = 0;  // items that start here or above ...
    int64_t after_to = 0;    // ... start here or above, since others come before them
    int64_t before_sum = 0;  // bytes of those others
  };
  std::vector<Section> sections_;
  Items by_offset_;
  int raised_first_ = 0;  // sections of the items that were raised
  int raised_last_ = 0;
};

Search::Search(std::span<const LiveRange> ranges, int64_t height_bytes, int64_t& work)
    : height_(height_bytes), work_(work) {
  PackingSections described = FindPackingSections(ranges);
  items_ = std::move(described.items);
  overlaps_ = std::move(described.overlaps);
  remaining_ = std::move(described.bytes);
  sections_.resize(remaining_.size());
  lowest_.assign(items_.size(), 0);
  placed_.assign(items_.size(), 0);
  weights_.assign(ranges.size(), 0);
}

std::optional<std::vector<int64_t>> Search::Run() {
  Items all(items_.size());
  std::iota(all.begin(), all.end(), 0);
  std::sort(all.begin(), all.end(), [&](int a, int b) {
    const int first_a = items_[static_cast<size_t>(a)].first;
    const int first_b = items_[static_cast<size_t>(b)].first;
    return first_a != first_b ? first_a < first_b : a < b;
  });
  solution_.assign(items_.size(), 0);
  const auto first_nodes = static_cast<double>(kFirstNodesPerBuffer) * static_cast<double>(items_.size());
  for (int restart = 0; work_ > 0; ++restart) {
    rank_ = RankOfItems(items_, weights_, restart);
    nodes_left_ = static_cast<int64_t>(first_nodes * (1 + kRestartGrowth * restart));
    const Outcome outcome = SolveParts(all, 0, 0);
    if (outcome == Outcome::kFound) return solution_;
    if (outcome == Outcome::kNone) return std::nullopt;
  }
  return std::nullopt;
}

// Solves each part of `items` that shares no section with the others.
Outcome Search::SolveParts(const Items& items, int64_t offset, int rank) {
  for (size_t begin = 0; begin < items.size();) {
    int last = items_[static_cast<size_t>(items[begin])].last;
    size_t end = begin + 1;
    while (end < items.size() && items_[static_cast<size_t>(items[end])].first < last) {
      last = std::max(last, items_[static_cast<size_t>(items[end])].last);
      ++end;
    }
    const bool whole = begin == 0 && end == items.size();
    const Outcome outcome = whole ? Solve(items, offset, rank)
                                  : Solve(Items(items.begin() + static_cast<std::ptrdiff_t>(begin),
                                                items.begin() + static_cast<std::ptrdiff_t>(end)),
                                          offset, rank);
    if (outcome != Outcome::kFound) return outcome;
    begin = end;
  }
  return Outcome::kFound;
}

// Places `items`, none of them before (offset, rank) in the order of placement.
Outcome Search::Solve(const Items& items, int64_t offset, int rank) {
  if (--nodes_left_ < 0 || work_ <= 0) return Outcome::kOutOfNodes;
  const int64_t limit = HighestUsefulOffset(items);
  for (int item = NextCandidate(items, offset, rank, limit); item >= 0;
       item = NextCandidate(items, offset, rank, limit)) {
    offset = lowest_[static_cast<size_t>(item)];
    rank = rank_[static_cast<size_t>(item)] + 1;
    if (!FitsItsSections(item)) continue;
    const Outcome outcome = Try(item, items);
    if (outcome == Outcome::kFound) solution_[static_cast<size_t>(item)] = offset;
    if (outcome != Outcome::kNone) return outcome;
  }
  return Outcome::kNone;
}

// Above it a placement leaves room below for another item, or pushes the fullest section over the height.
int64_t Search::HighestUsefulOffset(const Items& items) const {
  int64_t limit = std::numeric_limits<int64_t>::max();
  int last = 0;
  for (int item : items) {
    const PackingItem& it = items_[static_cast<size_t>(item)];
    limit = std::min(limit, lowest_[static_cast<size_t>(item)] + it.bytes - 1);
    last = std::max(last, it.last);
  }
  for (int s = items_[static_cast<size_t>(items.front())].first; s < last; ++s) {
    limit = std::min(limit, height_ - remaining_[static_cast<size_t>(s)]);
  }
  return limit;
}

// The next item by (lowest offset, rank), from (offset, rank) on and not above `limit`; -1 if there is none.
int Search::NextCandidate(const Items& items, int64_t offset, int rank, int64_t limit) const {
  int best = -1;
  int64_t best_offset = limit;
  int best_rank = std::numeric_limits<int>::max();
  for (int item : items) {
    const int64_t lowest = lowest_[static_cast<size_t>(item)];
    const int item_rank = rank_[static_cast<size_t>(item)];
    if (lowest > best_offset || lowest < offset || (lowest == offset && item_rank < rank)) continue;
    if (lowest == best_offset && item_rank > best_rank) continue;
    best = item;
    best_offset = lowest;
    best_rank = item_rank;
  }
  return best;
}

bool Search::FitsItsSections(int item) const {
  const PackingItem& it = items_[static_cast<size_t>(item)];
  const int64_t most = height_ - lowest_[static_cast<size_t>(item)];
  return std::all_of(remaining_.begin() + it.first, remaining_.begin() + it.last,
                     [most](int64_t remaining) { return remaining <= most; });
}

Outcome Search::Try(int item, const Items& items) {
  const PackingItem& it = items_[static_cast<size_t>(item)];
  const int64_t offset = lowest_[static_cast<size_t>(item)];
  const size_t changes_before = changes_.size();
  placed_[static_cast<size_t>(item)] = 1;
  for (int s = it.first; s < it.last; ++s) remaining_[static_cast<size_t>(s)] -= it.bytes;
  raised_first_ = it.first;
  raised_last_ = it.last;
  for (int other : overlaps_[static_cast<size_t>(item)]) {
    if (!placed_[static_cast<size_t>(other)]) Raise(other, offset + it.bytes);
  }
  Items rest;
  rest.reserve(items.size());
  std::copy_if(items.begin(), items.end(), std::back_inserter(rest), [item](int other) { return other != item; });
  Outcome outcome = Outcome::kFound;
  if (!rest.empty()) {
    const int refuted = Refute(rest, offset, raised_first_, raised_last_);
    if (refuted >= 0) Blame(rest, refuted);
    outcome = refuted >= 0 ? Outcome::kNone : SolveParts(rest, offset, rank_[static_cast<size_t>(item)]);
  }
  for (int s = it.first; s < it.last; ++s) remaining_[static_cast<size_t>(s)] += it.bytes;
  for (; changes_.size() > changes_before; changes_.pop_back()) {
    lowest_[static_cast<size_t>(changes_.back().item)] = changes_.back().lowest;
  }
  placed_[static_cast<size_t>(item)] = 0;
  return outcome;
}

void Search::Raise(int item, int64_t offset) {
  int64_t& lowest = lowest_[static_cast<size_t>(item)];
  if (lowest >= offset) return;
  changes_.push_back({item, lowest});
  lowest = offset;
  raised_first_ = std::min(raised_first_, items_[static_cast<size_t>(item)].first);
  raised_last_ = std::max(raised_last_, items_[static_cast<size_t>(item)].last);
}

int Search::Refute(const Items& items, int64_t offset, int changed_first, int changed_last) {
  for (int item : items) {  // sections where a passed-over item can no longer lie below `offset`
    if (lowest_[static_cast<size_t>(item)] >= offset) continue;
    changed_first = std::min(changed_first, items_[static_cast<size_t>(item)].first);
    changed_last = std::max(changed_last, items_[static_cast<size_t>(item)].last);
  }
  for (int round = 0; round < kMaxRaiseRounds && changed_first < changed_last; ++round) {
    by_offset_.clear();
    for (int item : items) {
      const PackingItem& it = items_[static_cast<size_t>(item)];
      if (it.first < changed_last && changed_first < it.last) by_offset_.push_back(item);
    }
    std::sort(by_offset_.begin(), by_offset_.end(),
              [&](int a, int b) { return lowest_[static_cast<size_t>(a)] > lowest_[static_cast<size_t>(b)]; });
    raised_first_ = std::numeric_limits<int>::max();
    raised_last_ = 0;
    const int refuted = RefuteOnce(by_offset_, offset, changed_first, changed_last);
    if (refuted >= 0) return refuted;
    changed_first = raised_first_;
    changed_last = raised_last_;
  }
  return -1;
}

// Items in falling order of lowest offset. Those seen at a section so far, W, cannot start below its `bound_at`; an
// item that could start lower but does not fit above or among them comes before all of them, and so do all such items
// together: W starts where they can end at the earliest.
int Search::RefuteOnce(const Items& by_offset, int64_t offset, int first, int last) {
  --work_;
  std::fill(sections_.begin() + first, sections_.begin() + last, Section{});
  bool raise = false;
  for (size_t position = 0; position < by_offset.size(); ++position) {
    const int item = by_offset[position];
    const PackingItem& it = items_[static_cast<size_t>(item)];
    const int64_t lowest = std::max(lowest_[static_cast<size_t>(item)], offset);
    for (int s = std::max(it.first, first); s < std::min(it.last, last); ++s) {
      Section& section = sections_[static_cast<size_t>(s)];
      if (section.bound + it.bytes > height_ && lowest < section.bound_at) {
        if (section.after_from != section.bound_at) {
          if (section.after_to > 0) RaiseThoseAfter(std::span(by_offset).first(position), s, s + 1);
          section.after_from = section.bound_at;
          section.after_to = 0;
          section.before_sum = 0;
        }
        section.before_sum += it.bytes;
        section.after_to = std::max(section.after_to, lowest + section.before_sum);
        raise = true;
      }
      section.sum += it.bytes;
      const int64_t bound = lowest + section.sum;
      if (bound <= section.bound) continue;
      if (bound > height_) return s;
      section.bound = bound;
      section.bound_at = lowest;
    }
  }
  if (raise) RaiseThoseAfter(by_offset, first, last);
  return -1;
}

void Search::RaiseThoseAfter(std::span<const int> by_offset, int first, int last) {
  for (int item : by_offset) {
    const PackingItem& it = items_[static_cast<size_t>(item)];
    const int64_t lowest = lowest_[static_cast<size_t>(item)];
    int64_t to = 0;
    for (int s = std::max(it.first, first); s < std::min(it.last, last); ++s) {
      const Section& section = sections_[static_cast<size_t>(s)];
      if (section.after_to > 0 && lowest >= section.after_from) to = std::max(to, section.after_to);
    }
    Raise(item, to);
  }
}

void Search::Blame(const Items& items, int section) {
  for (int item : items) {
    const PackingItem& it = items_[static_cast<size_t>(item)];
    if (it.first <= section && section < it.last) weights_[static_cast<size_t>(item)] += weight_step_;
  }
  weight_step_ *= kWeightGrowth;
  if (weight_step_ < kWeightLimit) return;
  for (double& weight : weights_) weight /= weight_step_;
  weight_step_ = 1;
}

}  // namespace

std::optional<std::vector<int64_t>> SearchPacking(std::span<const LiveRange> ranges, int64_t height_bytes,
                                                  int64_t& work) {
  if (ranges.empty()) return std::vector<int64_t>();
  return Search(ranges, height_bytes, work).Run();
}

}  // namespace onnx_mem
