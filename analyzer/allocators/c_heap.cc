#include "analyzer/allocators/c_heap.h"

#include <algorithm>

namespace onnx_mem {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr int64_t kHeaderBytes = 8;
constexpr int64_t kChunkAlignment = 16;
constexpr int64_t kLeastChunk = 32;
constexpr int64_t kAlignment = 64;
constexpr int64_t kSmallBytes = int64_t{16} << 10;         // names, shapes and the like
constexpr int64_t kPieceBytes = 128;                       // up to this a freed chunk waits for a small request
constexpr int64_t kMostMmapThreshold = int64_t{32} << 20;  // DEFAULT_MMAP_THRESHOLD_MAX
constexpr int64_t kTopPad = int64_t{128} << 10;            // DEFAULT_TOP_PAD

int64_t Up(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }
int64_t ChunkOf(int64_t bytes) { return std::max(kLeastChunk, Up(bytes + kHeaderBytes, kChunkAlignment)); }

}  // namespace

int64_t CHeap::Take(int64_t bytes, int64_t written_bytes) {
  if (const auto fit = by_size_.lower_bound({bytes, 0}); fit != by_size_.end()) {
    const auto [size, begin] = *fit;
    by_size_.erase(fit);
    free_.erase(begin);
    if (size - bytes < kLeastChunk) {
      used_[begin] = size;
      return begin;
    }
    free_[begin + bytes] = size - bytes;
    by_size_.insert({size - bytes, begin + bytes});
    used_[begin] = bytes;
    return begin;
  }
  if (end_ - top_ < bytes + kLeastChunk) {
    if (bytes >= mmap_threshold_) {
      const int64_t size = Up(bytes + kHeaderBytes, kPageBytes);
      const Block block = next_mapping_;
      next_mapping_ += size;
      mapped_[block] = {size, std::min(size, Up(written_bytes, kPageBytes))};
      mapped_bytes_ += mapped_[block].second;
      return block;
    }
    end_ += Up(bytes + kTopPad + kLeastChunk - (end_ - top_), kPageBytes);
  }
  const Block block = top_;
  top_ += bytes;
  used_[block] = bytes;
  return block;
}

void CHeap::Write(Block block, int64_t bytes) {
  if (used_.contains(block)) written_end_ = std::max(written_end_, block + bytes);
}

CHeap::Block CHeap::Malloc(int64_t bytes) {
  const Block block = Take(ChunkOf(bytes), bytes);
  Write(block, bytes);
  return block;
}

CHeap::Block CHeap::Aligned(int64_t bytes, int64_t written_bytes) {
  const int64_t chunk = ChunkOf(bytes);
  const Block whole = Take(Up(chunk + kAlignment + kLeastChunk + kHeaderBytes, kChunkAlignment), written_bytes);
  const auto entry = used_.find(whole);
  if (entry == used_.end()) return whole;  // a mapping
  const int64_t size = entry->second;
  used_.erase(entry);
  int64_t before = Up(whole + 2 * kHeaderBytes, kAlignment) - whole - 2 * kHeaderBytes;
  if (before > 0 && before < kLeastChunk) before += kAlignment;
  const Block block = whole + before;
  const int64_t behind = size - before - chunk;
  used_[block] = behind >= kLeastChunk ? chunk : chunk + behind;
  if (before > 0) FreeRange(whole, before);
  if (behind >= kLeastChunk) FreeRange(block + chunk, behind);
  Write(block, written_bytes);
  return block;
}

void CHeap::Free(Block block) {
  if (const auto mapping = mapped_.find(block); mapping != mapped_.end()) {
    const auto [size, written] = mapping->second;
    mapped_bytes_ -= written;
    mapped_.erase(mapping);
    if (size > mmap_threshold_ && size <= kMostMmapThreshold) {
      mmap_threshold_ = size;
      trim_threshold_ = 2 * size;
    }
    return;
  }
  const auto entry = used_.find(block);
  if (entry == used_.end()) return;
  const int64_t size = entry->second;
  used_.erase(entry);
  if (size >= kSmallBytes) Merge(block, size);
}

void CHeap::FreeRange(int64_t begin, int64_t bytes) {
  if (pieces_are_taken_ && bytes <= kPieceBytes) return;
  Merge(begin, bytes);
}

void CHeap::Merge(int64_t begin, int64_t bytes) {
  auto next = free_.lower_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      by_size_.erase({before->second, before->first});
      next = free_.erase(before);
    }
  }
  if (next != free_.end() && begin + bytes == next->first) {
    bytes += next->second;
    by_size_.erase({next->second, next->first});
    free_.erase(next);
  }
  if (begin + bytes != top_) {
    free_[begin] = bytes;
    by_size_.insert({bytes, begin});
    return;
  }
  top_ = begin;
  if (end_ - top_ < trim_threshold_) return;
  end_ = std::min(end_, Up(top_ + kTopPad + kLeastChunk, kPageBytes));
  written_end_ = std::min(written_end_, end_);
}

}  // namespace onnx_mem
