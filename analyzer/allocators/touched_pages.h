// Pages of memory that were written to at least once: of what an allocator has taken from the system, what is resident.
// A region that was taken and never written to costs a process on the CPU nothing.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_TOUCHED_PAGES_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_TOUCHED_PAGES_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace onnx_mem {

class TouchedPages {
 public:
  // `bytes` from `offset_bytes` on, in segment number `segment`, are written.
  void Touch(int64_t segment, int64_t offset_bytes, int64_t bytes) {
    if (bytes <= 0) return;
    Spans& spans = spans_[segment];
    int64_t begin = offset_bytes / kPageBytes, end = (offset_bytes + bytes - 1) / kPageBytes + 1;
    auto next = spans.upper_bound(begin);
    if (next != spans.begin() && std::prev(next)->second >= begin) --next;
    while (next != spans.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      pages_ -= next->second - next->first;
      next = spans.erase(next);
    }
    spans.emplace(begin, end);
    pages_ += end - begin;
  }

  // The segment has gone back to the system.
  void Drop(int64_t segment) {
    for (const auto& [begin, end] : spans_[segment]) pages_ -= end - begin;
    spans_.erase(segment);
  }

  int64_t bytes() const { return pages_ * kPageBytes; }
  int64_t BytesOf(int64_t segment) const {
    const auto entry = spans_.find(segment);
    int64_t pages = 0;
    if (entry == spans_.end()) return 0;
    for (const auto& [begin, end] : entry->second) pages += end - begin;
    return pages * kPageBytes;
  }

 private:
  static constexpr int64_t kPageBytes = 4096;
  using Spans = std::map<int64_t, int64_t>;  // pages, half-open, apart from each other
  std::map<int64_t, Spans> spans_;
  int64_t pages_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_TOUCHED_PAGES_H_
