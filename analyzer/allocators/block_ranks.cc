#include "analyzer/allocators/block_ranks.h"

#include <algorithm>
#include <bit>

namespace onnx_mem {
namespace {

size_t ListOf(const BlockRank& rank) {
  return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(rank.bytes, 0))));
}

}  // namespace

void BlockRanks::Insert(const BlockRank& rank) {
  const size_t at = ListOf(rank);
  List& list = lists_[at];
  list.insert(std::lower_bound(list.begin(), list.end(), rank), rank);
  filled_ |= uint64_t{1} << at;
}

void BlockRanks::Erase(const BlockRank& rank) {
  const size_t at = ListOf(rank);
  List& list = lists_[at];
  list.erase(std::lower_bound(list.begin(), list.end(), rank));
  if (list.empty()) filled_ &= ~(uint64_t{1} << at);
}

const BlockRank* BlockRanks::FirstFrom(size_t list) const {
  const uint64_t filled = list < kLists ? filled_ >> list << list : 0;
  return filled == 0 ? nullptr : &lists_[static_cast<size_t>(std::countr_zero(filled))].front();
}

const BlockRank* BlockRanks::LastBelow(size_t list) const {
  const uint64_t filled = list < kLists ? filled_ & ((uint64_t{1} << list) - 1) : filled_;
  return filled == 0 ? nullptr : &lists_[static_cast<size_t>(std::bit_width(filled)) - 1].back();
}

const BlockRank* BlockRanks::NotBefore(const BlockRank& rank) const {
  const List& list = lists_[ListOf(rank)];
  const auto place = std::lower_bound(list.begin(), list.end(), rank);
  return place == list.end() ? FirstFrom(ListOf(rank) + 1) : &*place;
}

const BlockRank* BlockRanks::Behind(const BlockRank& rank) const {
  const List& list = lists_[ListOf(rank)];
  const auto place = std::upper_bound(list.begin(), list.end(), rank);
  return place == list.end() ? FirstFrom(ListOf(rank) + 1) : &*place;
}

const BlockRank* BlockRanks::Before(const BlockRank& rank) const {
  const List& list = lists_[ListOf(rank)];
  const auto place = std::lower_bound(list.begin(), list.end(), rank);
  return place == list.begin() ? LastBelow(ListOf(rank)) : &place[-1];
}

const BlockRank* BlockRanks::Last() const { return LastBelow(kLists); }

std::vector<BlockId> BlockRanks::Ids() const {
  std::vector<BlockId> ids;
  for (const List& list : lists_) {
    for (const BlockRank& rank : list) ids.push_back(rank.id);
  }
  return ids;
}

}  // namespace onnx_mem
