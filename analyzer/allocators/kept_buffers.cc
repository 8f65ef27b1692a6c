#include "analyzer/allocators/kept_buffers.h"

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {

FixedKey KeyOf(const ReplayScript& script, const ReplayedLife& life) {
  return {life.category, &script.NameOf(life), life.bytes};
}

int64_t RemainingBuffers::Take(const FixedKey& key) {
  while (next_ < kept_.size() && kept_[next_].allocation == kNoAllocation) ++next_;
  if (next_ < kept_.size() && kept_[next_].key == key) return std::exchange(kept_[next_++].allocation, kNoAllocation);
  if (places_.empty()) {
    for (size_t i = kept_.size(); i-- > next_;) places_[kept_[i].key].push_back(i);
  }
  const auto found = places_.find(key);
  if (found == places_.end()) return kNoAllocation;
  while (!found->second.empty()) {
    const size_t place = found->second.back();
    found->second.pop_back();
    if (kept_[place].allocation != kNoAllocation) return std::exchange(kept_[place].allocation, kNoAllocation);
  }
  return kNoAllocation;
}

std::vector<KeptBuffer> RemainingBuffers::Rest() {
  std::erase_if(kept_, [](const KeptBuffer& one) { return one.allocation == kNoAllocation; });
  StableSort(kept_, [](const KeptBuffer& a, const KeptBuffer& b) { return a.key < b.key; });
  return std::move(kept_);
}

}  // namespace onnx_mem
