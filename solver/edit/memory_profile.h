// Bytes over time: a vector of numbers with addition over a range and maximum over a range, both in O(log n).
#ifndef ONNX_MEM_SOLVER_EDIT_MEMORY_PROFILE_H_
#define ONNX_MEM_SOLVER_EDIT_MEMORY_PROFILE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace onnx_mem {

// A tree of maxima. What is added to a whole subtree stays at its root (added_), so nothing is ever pushed down.
class MemoryProfile {
 public:
  explicit MemoryProfile(int size) {
    while (leaves_ < size) leaves_ *= 2;
    most_.assign(2 * leaves_, 0);
    added_.assign(leaves_, 0);
    for (int i = size; i < leaves_; ++i) Add(i, i, kNothing);
  }

  // To every number of [first, last].
  void Add(int first, int last, int64_t bytes) {
    int left = first + leaves_;
    int right = last + leaves_;
    Apply(left, bytes);
    if (left != right) Apply(right, bytes);
    for (; (left ^ right) > 1; Pull(left), Pull(right)) {
      if ((left & 1) == 0) Apply(left ^ 1, bytes);
      if ((right & 1) == 1) Apply(right ^ 1, bytes);
      left /= 2;
      right /= 2;
    }
    for (left /= 2; left >= 1; left /= 2) Pull(left);
  }

  int64_t At(int index) const { return Max(index, index); }

  int64_t Max(int first, int last) const {
    int left = first + leaves_;
    int right = last + leaves_;
    int64_t most_left = most_[left];
    int64_t most_right = most_[right];
    while ((left ^ right) > 1) {
      if ((left & 1) == 0) most_left = std::max(most_left, most_[left ^ 1]);
      if ((right & 1) == 1) most_right = std::max(most_right, most_[right ^ 1]);
      left /= 2;
      right /= 2;
      most_left += added_[left];
      most_right += added_[right];
    }
    int64_t most = std::max(most_left, most_right);
    for (left /= 2; left >= 1; left /= 2) most += added_[left];
    return most;
  }

  int64_t Max() const { return most_[1]; }

  // The first place where the maximum is reached.
  int ArgMax() const {
    int node = 1;
    while (node < leaves_) node = most_[2 * node] >= most_[2 * node + 1] ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }

 private:
  static constexpr int64_t kNothing = -(int64_t{1} << 60);

  void Apply(int node, int64_t bytes) {
    most_[node] += bytes;
    if (node < leaves_) added_[node] += bytes;
  }
  void Pull(int node) { most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node]; }

  int leaves_ = 2;
  std::vector<int64_t> most_;   // of the subtree, what its own root added included
  std::vector<int64_t> added_;  // to the whole subtree
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_SOLVER_EDIT_MEMORY_PROFILE_H_
