#include "analyzer/run/region_calls.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace onnx_mem {
namespace {

// Calls [begin, end) of a whole, as calls of a region of their own.
class RegionPart {
 public:
  RegionPart(const RegionCalls& whole, int32_t begin, int32_t end)
      : whole_(whole), begin_(begin), end_(end), index_(whole.storages.size(), -1) {}

  RegionCalls Take() {
    FindFirstVersions();
    for (int32_t i = begin_; i < end_; ++i) part_.calls.push_back(Call(whole_.calls[static_cast<size_t>(i)]));
    for (const SavedStorage& saved : whole_.saved) {
      if (IsWithin(saved.call)) part_.saved.push_back({saved.call - begin_, Version(saved.what)});
    }
    FindLeaving();
    return std::move(part_);
  }

 private:
  bool IsWithin(int32_t call) const { return call >= begin_ && call < end_; }

  // What was written over before the region begins has version 0 there.
  void FindFirstVersions() {
    first_version_.resize(whole_.storages.size(), 0);
    for (int32_t i = 0; i < begin_; ++i) {
      for (const int32_t s : whole_.calls[static_cast<size_t>(i)].writes) ++first_version_[static_cast<size_t>(s)];
    }
  }

  int32_t Storage(int32_t of_whole) {
    if (of_whole < 0) return -1;
    int32_t& index = index_[static_cast<size_t>(of_whole)];
    if (index < 0) {
      index = static_cast<int32_t>(part_.storages.size());
      RegionStorage storage = whole_.storages[static_cast<size_t>(of_whole)];
      storage.maker = IsWithin(storage.maker) ? storage.maker - begin_ : -1;
      part_.storages.push_back(storage);
    }
    return index;
  }

  StorageVersion Version(const StorageVersion& of_whole) {
    return {Storage(of_whole.storage), of_whole.version - first_version_[static_cast<size_t>(of_whole.storage)]};
  }

  RegionCall Call(RegionCall call) {
    const auto count = [this](const std::string& module, const std::string& op) {
      return counts_[CallId{module, op, 0}]++;
    };
    call.nth_in_region = count("", call.call.op);
    call.call.nth = call.call.module.empty() ? call.nth_in_region : count(call.call.module, call.call.op);
    for (int32_t& s : call.outputs) s = Storage(s);
    for (StorageVersion& read : call.reads) read = Version(read);
    for (int32_t& s : call.writes) s = Storage(s);
    return call;
  }

  void FindLeaving() {
    const auto leaves = [this](int32_t of_whole) {
      if (of_whole >= 0 && index_[static_cast<size_t>(of_whole)] >= 0) {
        part_.storages[static_cast<size_t>(index_[static_cast<size_t>(of_whole)])].leaves = true;
      }
    };
    for (size_t i = static_cast<size_t>(end_); i < whole_.calls.size(); ++i) {
      for (const StorageVersion& read : whole_.calls[i].reads) leaves(read.storage);
    }
    for (const SavedStorage& saved : whole_.saved) {
      if (saved.call >= end_) leaves(saved.what.storage);
    }
  }

  const RegionCalls& whole_;
  int32_t begin_, end_;
  std::vector<int32_t> index_;          // of the part's storage, by that of the whole
  std::vector<int32_t> first_version_;  // by storage of the whole
  absl::flat_hash_map<CallId, int32_t> counts_;
  RegionCalls part_;
};

}  // namespace

bool IsView(const RegionCalls& region, int32_t call) {
  const RegionCall& c = region.calls[static_cast<size_t>(call)];
  return c.writes.empty() && std::none_of(c.outputs.begin(), c.outputs.end(), [&](int32_t s) {
           return s >= 0 && region.storages[static_cast<size_t>(s)].maker == call;
         });
}

bool IsEffectful(const RegionCalls& region, int32_t call) {
  const RegionCall& c = region.calls[static_cast<size_t>(call)];
  return std::any_of(c.writes.begin(), c.writes.end(),
                     [&](int32_t s) { return region.storages[static_cast<size_t>(s)].maker < 0; });
}

RegionCalls PartOf(const RegionCalls& whole, int32_t first, int32_t last) {
  const auto before = [](const RegionCall& call, int32_t node) { return call.node < node; };
  const auto begin = std::lower_bound(whole.calls.begin(), whole.calls.end(), first, before);
  const auto end = std::lower_bound(begin, whole.calls.end(), last + 1, before);
  return RegionPart(whole, static_cast<int32_t>(begin - whole.calls.begin()),
                    static_cast<int32_t>(end - whole.calls.begin()))
      .Take();
}

}  // namespace onnx_mem
