#include "analyzer/allocators/block_heap.h"

#include <cassert>
#include <limits>

namespace onnx_mem {

BlockRank BlockHeap::RankOf(BlockId id) const {
  const Block& block = blocks_[id];
  return {block.state == BlockState::kUnmapped ? 0 : block.bytes, block.offset_bytes,
          static_cast<int32_t>(sign_ * block.segment), id};
}

void BlockHeap::Index(BlockId id) {
  const Block& block = blocks_[id];
  switch (block.state) {
    case BlockState::kFree:
      free_bytes_ += block.bytes;
      by_size_.Insert(RankOf(id));
      break;
    case BlockState::kUsed: used_bytes_ += block.bytes; break;
    case BlockState::kUnmapped: unmapped_.insert(RankOf(id)); break;
  }
}

void BlockHeap::Unindex(BlockId id) {
  const Block& block = blocks_[id];
  switch (block.state) {
    case BlockState::kFree:
      free_bytes_ -= block.bytes;
      by_size_.Erase(RankOf(id));
      break;
    case BlockState::kUsed: used_bytes_ -= block.bytes; break;
    case BlockState::kUnmapped: unmapped_.erase(RankOf(id)); break;
  }
}

BlockId BlockHeap::NewBlock(const Block& block) {
  if (unused_.empty()) return blocks_.Add(block);
  const BlockId id = unused_.back();
  unused_.pop_back();
  blocks_[id] = block;
  return id;
}

BlockId BlockHeap::AddSegment(int64_t bytes, BlockState state) {
  Block block;
  block.segment = static_cast<int64_t>(segment_bytes_.size());
  segment_bytes_.push_back(bytes);
  block.bytes = bytes;
  block.state = state;
  const BlockId id = NewBlock(block);
  Index(id);
  return id;
}

void BlockHeap::RemoveSegment(BlockId id) {
  assert(blocks_[id].state == BlockState::kFree && IsWholeSegment(id));
  Unindex(id);
  unused_.push_back(id);
}

BlockId BlockHeap::BestFit(int64_t bytes) const {
  const BlockRank* place = by_size_.NotBefore({bytes, 0, std::numeric_limits<int32_t>::min(), BlockId()});
  return place == nullptr ? BlockId() : place->id;
}

BlockId BlockHeap::NextLargerFree(BlockId id) const {
  const BlockRank* place = by_size_.Behind(RankOf(id));
  return place == nullptr ? BlockId() : place->id;
}

BlockId BlockHeap::NextSmallerFree(BlockId id) const {
  const BlockRank* place = id.valid() ? by_size_.Before(RankOf(id)) : by_size_.Last();
  return place == nullptr ? BlockId() : place->id;
}

std::vector<BlockId> BlockHeap::FreeBlocks() const { return by_size_.Ids(); }

std::vector<BlockId> BlockHeap::UnmappedBlocks() const {
  std::vector<BlockId> ids;
  for (const BlockRank& place : unmapped_) ids.push_back(place.id);
  return ids;
}

BlockId BlockHeap::Split(BlockId id, int64_t bytes) {
  Unindex(id);
  const BlockId rest = CutOff(id, bytes);
  Index(id);
  Index(rest);
  return rest;
}

void BlockHeap::Use(BlockId id, int64_t bytes) {
  assert(blocks_[id].state == BlockState::kFree);
  Unindex(id);
  if (bytes < blocks_[id].bytes) Index(CutOff(id, bytes));
  blocks_[id].state = BlockState::kUsed;
  Index(id);
}

BlockId BlockHeap::CutOff(BlockId id, int64_t bytes) {
  assert(0 < bytes && bytes < blocks_[id].bytes);
  Block rest = blocks_[id];
  rest.offset_bytes += bytes;
  rest.bytes -= bytes;
  rest.previous = id;
  const BlockId rest_id = NewBlock(rest);
  if (rest.next.valid()) blocks_[rest.next].previous = rest_id;
  blocks_[id].bytes = bytes;
  blocks_[id].next = rest_id;
  return rest_id;
}

BlockId BlockHeap::SetState(BlockId id, BlockState state) {
  Unindex(id);
  blocks_[id].state = state;
  if (state != BlockState::kUsed) {
    if (const BlockId next = blocks_[id].next; next.valid() && blocks_[next].state == state) {
      Unindex(next);
      Absorb(id, next);
    }
    if (const BlockId previous = blocks_[id].previous; previous.valid() && blocks_[previous].state == state) {
      Unindex(previous);
      Absorb(previous, id);
      id = previous;
    }
  }
  Index(id);
  return id;
}

void BlockHeap::Absorb(BlockId id, BlockId next) {
  blocks_[id].bytes += blocks_[next].bytes;
  blocks_[id].next = blocks_[next].next;
  if (blocks_[id].next.valid()) blocks_[blocks_[id].next].previous = id;
  unused_.push_back(next);
}

}  // namespace onnx_mem
