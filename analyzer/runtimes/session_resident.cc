#include "analyzer/runtimes/session_resident.h"

#include <algorithm>
#include <vector>

#include "analyzer/allocators/c_heap.h"
#include "analyzer/runtimes/session_figures.h"
#include "analyzer/runtimes/session_load.h"

namespace onnx_mem {
namespace {

constexpr int64_t kNothing = -1;
constexpr int64_t kReadBufferBytes = int64_t{4} << 20;  // of the stream that the file is parsed from
// kSafeStringSize (google/protobuf/parse_context.h): a longer string grows as it is read.
constexpr int64_t kLongestReserved = 50'000'000;

class Loading {
 public:
  // `scattered`: no two holes beside aligned blocks ever become one; what a process shows at most.
  Loading(const SessionLoad& load, int64_t nodes, bool external, bool scattered)
      : load_(load), external_(external), scattered_(scattered), nodes_(nodes) {
    heap_.SetPiecesAreTaken(scattered);
  }

  SessionResidence Run(std::span<const RegionUse> regions) {
    for (int64_t i = 0; i < nodes_; ++i) heap_.Malloc(kSessionObjectBytes);
    external_ ? Map() : Read();
    for (const LoadStep& step : load_.steps) Do(step);
    for (const RegionUse& region : regions) heap_.Aligned(region.bytes, region.touched_bytes);
    See();
    return {heap_.resident_bytes() + file_bytes_, unread_bytes_, peak_bytes_};
  }

 private:
  // With half of what is kept of a weight beside its contents.
  CHeap::Block ReadString(int64_t bytes) {
    heap_.Malloc(kSessionObjectBytes / 2);
    int64_t size = std::min(bytes, kLongestReserved) + 1;
    CHeap::Block block = heap_.Malloc(size);
    while (size < bytes + 1) {
      size = 2 * (size - 1) + 1;
      const CHeap::Block longer = heap_.Malloc(size);
      See();
      heap_.Free(block);
      block = longer;
    }
    return block;
  }

  void Read() {
    const CHeap::Block buffer = heap_.Malloc(kReadBufferBytes);
    std::vector<CHeap::Block> strings;
    for (const SessionLoad::Stored& stored : load_.stored) strings.push_back(ReadString(stored.bytes));
    See();
    heap_.Free(buffer);
    for (size_t i = 0; i < strings.size(); ++i) {
      heap_.Malloc(kSessionObjectBytes / 2);
      values_.push_back(heap_.Aligned(load_.stored[i].bytes));
      See();
      heap_.Free(strings[i]);
    }
  }

  void Map() {
    for (const SessionLoad::Stored& stored : load_.stored) {
      heap_.Malloc(kSessionObjectBytes);
      values_.push_back(kNothing);
      (stored.by_rows ? unread_bytes_ : file_bytes_) += stored.bytes;
    }
  }

  // What is mapped leaves the process when the session releases it.
  void Release(size_t weight) {
    if (values_[weight] != kNothing) {
      heap_.Free(values_[weight]);
    } else if (weight < load_.stored.size() && !load_.stored[weight].by_rows) {
      file_bytes_ -= load_.stored[weight].bytes;
    }
    values_[weight] = kNothing;
  }

  void Do(const LoadStep& step) {
    CHeap::Block made = kNothing;
    switch (step.kind) {
      case LoadStep::Kind::kTranspose: {
        const CHeap::Block copy = heap_.Aligned(step.bytes);
        made = heap_.Aligned(step.bytes);
        See();
        heap_.Free(copy);
        heap_.Malloc(kSessionObjectBytes);
        break;
      }
      case LoadStep::Kind::kReorder: made = Reordered(step.bytes); break;
      case LoadStep::Kind::kDrop: Release(step.weight); break;
      case LoadStep::Kind::kPack:
        made = heap_.Aligned(step.bytes);
        See();
        Release(step.weight);
        break;
    }
    values_.push_back(made);
  }

  // Names, shapes and strings are made in between, into the pieces beside what is copied.
  CHeap::Block Reordered(int64_t bytes) {
    heap_.SetPiecesAreTaken(true);
    const CHeap::Block copy = heap_.Aligned(bytes), vector = heap_.Malloc(bytes), string = heap_.Malloc(bytes + 1);
    const CHeap::Block made = heap_.Aligned(bytes);
    See();
    for (CHeap::Block block : {string, vector, copy}) heap_.Free(block);
    heap_.SetPiecesAreTaken(scattered_);
    return made;
  }

  void See() { peak_bytes_ = std::max(peak_bytes_, heap_.resident_bytes() + file_bytes_); }

  const SessionLoad& load_;
  bool external_;
  bool scattered_;
  int64_t nodes_;
  CHeap heap_;
  std::vector<CHeap::Block> values_;  // of stored weights, then of steps
  int64_t file_bytes_ = 0;
  int64_t unread_bytes_ = 0;
  int64_t peak_bytes_ = 0;
};

}  // namespace

SessionResidence ResidenceOf(const Graph& file, const Graph& session, std::span<const RegionUse> regions,
                             bool external) {
  const auto nodes =
      std::count_if(file.nodes.begin(), file.nodes.end(), [](const Node& node) { return !node.inputs.empty(); });
  const SessionLoad load = LoadOf(file, session);
  SessionResidence residence = Loading(load, nodes, external, /*scattered=*/false).Run(regions);
  const SessionResidence most = Loading(load, nodes, external, /*scattered=*/true).Run(regions);
  residence.peak_bytes = std::max(residence.peak_bytes, most.peak_bytes);
  return residence;
}

}  // namespace onnx_mem
