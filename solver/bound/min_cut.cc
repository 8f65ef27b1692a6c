#include "solver/bound/min_cut.h"

#include <algorithm>

namespace onnx_mem {

int MinCut::AddArc(int from, int to, int64_t capacity) {
  linked_ = false;
  from_.push_back(from);
  to_.push_back(to);
  capacity_.push_back(capacity);
  return static_cast<int>(from_.size()) - 1;
}

void MinCut::Link() {
  const size_t arcs = from_.size();
  first_.assign(node_count_ + 1, 0);
  for (size_t i = 0; i < arcs; ++i) {
    ++first_[from_[i] + 1];
    ++first_[to_[i] + 1];
  }
  for (int node = 0; node < node_count_; ++node) first_[node + 1] += first_[node];
  std::vector<int> next(first_.begin(), first_.end() - 1);
  halves_.assign(2 * arcs, {});
  half_of_.assign(arcs, 0);
  for (size_t i = 0; i < arcs; ++i) {
    const int there = next[from_[i]]++;
    const int back = next[to_[i]]++;
    halves_[there] = {to_[i], back, 0};
    halves_[back] = {from_[i], there, 0};
    half_of_[i] = there;
  }
  linked_ = true;
}

void MinCut::LoadCapacities() {
  for (size_t i = 0; i < from_.size(); ++i) {
    Half& half = halves_[half_of_[i]];
    half.left = capacity_[i];
    halves_[half.reverse].left = 0;
  }
  excess_.assign(node_count_, 0);
  label_.assign(node_count_, 0);
  current_.assign(node_count_, 0);
  active_.resize(node_count_);
  first_with_.assign(node_count_ + 1, -1);
  after_.assign(node_count_, -1);
  before_.assign(node_count_, -1);
}

MinCut::Wide MinCut::Solve() {
  if (!linked_) Link();
  LoadCapacities();
  for (int h = first_[kSource]; h < first_[kSource + 1]; ++h) {
    Half& half = halves_[h];
    excess_[half.to] += half.left;
    halves_[half.reverse].left += half.left;
    half.left = 0;
  }
  Relabel();
  while (highest_ >= 0) {
    if (active_[highest_].empty()) {
      --highest_;
      continue;
    }
    const int node = active_[highest_].back();
    active_[highest_].pop_back();
    if (label_[node] == highest_) Discharge(node);
    if (work_ > 6 * int64_t{node_count_} + static_cast<int64_t>(halves_.size())) Relabel();
  }
  Relabel();  // the cut is what cannot reach the sink
  return excess_[kSink];
}

void MinCut::Relabel() {
  total_work_ += work_ + static_cast<int64_t>(halves_.size()) + node_count_;
  work_ = 0;
  std::fill(label_.begin(), label_.end(), node_count_);
  std::fill(first_with_.begin(), first_with_.end(), -1);
  top_ = 0;
  for (auto& bucket : active_) bucket.clear();
  highest_ = -1;
  label_[kSink] = 0;
  queue_.assign(1, kSink);
  for (size_t i = 0; i < queue_.size(); ++i) {
    const int node = queue_[i];
    Enlist(node);
    current_[node] = first_[node];
    if (node != kSink && excess_[node] > 0) Activate(node);
    for (int h = first_[node]; h < first_[node + 1]; ++h) {
      const int from = halves_[h].to;
      if (from == kSource || label_[from] < node_count_ || halves_[halves_[h].reverse].left == 0) continue;
      label_[from] = label_[node] + 1;
      queue_.push_back(from);
    }
  }
}

void MinCut::Activate(int node) {
  active_[label_[node]].push_back(node);
  highest_ = std::max(highest_, label_[node]);
}

// Pushes the node's excess towards the sink, raising its label where there is no arc down.
void MinCut::Discharge(int node) {
  while (excess_[node] > 0 && label_[node] < node_count_) {
    for (int& h = current_[node]; h < first_[node + 1]; ++h) {
      Half& half = halves_[h];
      if (half.left == 0 || label_[half.to] + 1 != label_[node]) continue;
      const auto amount = static_cast<int64_t>(std::min<Wide>(excess_[node], half.left));
      half.left -= amount;
      halves_[half.reverse].left += amount;
      excess_[node] -= amount;
      if (half.to != kSink && excess_[half.to] == 0) {
        excess_[half.to] = amount;
        Activate(half.to);
      } else {
        excess_[half.to] += amount;
      }
      if (excess_[node] == 0) return;
    }
    int label = node_count_;
    for (int h = first_[node]; h < first_[node + 1]; ++h) {
      if (halves_[h].left > 0) label = std::min(label, label_[halves_[h].to] + 1);
    }
    work_ += first_[node + 1] - first_[node] + 12;
    const int old = label_[node];
    current_[node] = first_[node];
    Strike(node);
    label_[node] = label;
    if (label < node_count_) Enlist(node);
    if (first_with_[old] < 0) CloseGap(old);
  }
}

// No node has this label: nothing above it reaches the sink.
void MinCut::CloseGap(int gap) {
  work_ += node_count_ / 8;
  for (int label = gap + 1; label <= top_; ++label) {
    for (int node = first_with_[label]; node >= 0; node = after_[node]) label_[node] = node_count_;
    first_with_[label] = -1;
  }
  top_ = gap;
}

void MinCut::Enlist(int node) {
  int& first = first_with_[label_[node]];
  before_[node] = -1;
  after_[node] = first;
  if (first >= 0) before_[first] = node;
  first = node;
  top_ = std::max(top_, label_[node]);
}

void MinCut::Strike(int node) {
  if (after_[node] >= 0) before_[after_[node]] = before_[node];
  (before_[node] >= 0 ? after_[before_[node]] : first_with_[label_[node]]) = after_[node];
}

}  // namespace onnx_mem
