#include "analyzer/compare/match.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace onnx_mem {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr size_t kMostCells = size_t{4} << 20;  // of one alignment table

using Units = absl::Span<const MatchUnit>;

class Matcher {
 public:
  Matcher(Units base, Units head)
      : base_(base), head_(head), mate_of_base_(base.size(), kNone), mate_of_head_(head.size(), kNone) {}

  std::vector<MatchedPair> Run() {
    MatchByKey([](const MatchUnit& unit) { return unit.path; });
    MatchByKey([](const MatchUnit& unit) {
      return unit.name.empty() ? std::string() : absl::StrCat(unit.name, "\n", unit.kind);
    });
    MatchByPosition();
    std::vector<MatchedPair> pairs;
    for (size_t i = 0; i < base_.size(); ++i) {
      if (mate_of_base_[i] != kNone) pairs.push_back({i, mate_of_base_[i]});
    }
    return pairs;
  }

 private:
  void Join(size_t i, size_t j) {
    mate_of_base_[i] = j;
    mate_of_head_[j] = i;
  }

  template <class KeyOf>
  void MatchByKey(KeyOf key_of) {
    absl::flat_hash_map<std::string, std::vector<size_t>> by_key;
    for (size_t j = head_.size(); j-- > 0;) {
      if (mate_of_head_[j] != kNone) continue;
      if (std::string key = key_of(head_[j]); !key.empty()) by_key[std::move(key)].push_back(j);
    }
    for (size_t i = 0; i < base_.size(); ++i) {
      if (mate_of_base_[i] != kNone) continue;
      const auto found = by_key.find(key_of(base_[i]));
      if (found == by_key.end() || found->second.empty()) continue;
      Join(i, found->second.back());
      found->second.pop_back();
    }
  }

  // Matched pairs that stand in the same order on both sides: a longest increasing subsequence of mates.
  std::vector<MatchedPair> Anchors() const {
    std::vector<MatchedPair> pairs;
    for (size_t i = 0; i < base_.size(); ++i) {
      if (mate_of_base_[i] != kNone) pairs.push_back({i, mate_of_base_[i]});
    }
    std::vector<size_t> ends, before(pairs.size(), kNone);  // ends[k]: last pair of the best chain of k + 1
    for (size_t p = 0; p < pairs.size(); ++p) {
      const auto at = std::lower_bound(ends.begin(), ends.end(), pairs[p].head,
                                       [&](size_t end, size_t head) { return pairs[end].head < head; });
      if (at != ends.begin()) before[p] = *(at - 1);
      at == ends.end() ? ends.push_back(p) : static_cast<void>(*at = p);
    }
    std::vector<MatchedPair> chain;
    for (size_t p = ends.empty() ? kNone : ends.back(); p != kNone; p = before[p]) chain.push_back(pairs[p]);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  void MatchByPosition() {
    std::vector<MatchedPair> anchors = Anchors();
    anchors.push_back({base_.size(), head_.size()});
    size_t i = 0, j = 0;
    for (const MatchedPair& anchor : anchors) {
      std::vector<size_t> left, right;
      for (; i < anchor.base; ++i) {
        if (mate_of_base_[i] == kNone && !base_[i].kind.empty()) left.push_back(i);
      }
      for (; j < anchor.head; ++j) {
        if (mate_of_head_[j] == kNone && !head_[j].kind.empty()) right.push_back(j);
      }
      Align(left, right);
      ++i, ++j;
    }
  }

  bool SameKind(size_t i, size_t j) const { return base_[i].kind == head_[j].kind; }

  void Align(const std::vector<size_t>& left, const std::vector<size_t>& right) {
    if (left.empty() || right.empty()) return;
    const size_t columns = right.size() + 1;
    if ((left.size() + 1) > kMostCells / columns) return MatchInOrder(left, right);
    // length[l][r]: of the longest common subsequence of left[l..] and right[r..].
    std::vector<uint32_t> length((left.size() + 1) * columns, 0);
    for (size_t l = left.size(); l-- > 0;) {
      for (size_t r = right.size(); r-- > 0;) {
        uint32_t& cell = length[l * columns + r];
        cell = SameKind(left[l], right[r]) ? length[(l + 1) * columns + r + 1] + 1
                                           : std::max(length[(l + 1) * columns + r], length[l * columns + r + 1]);
      }
    }
    for (size_t l = 0, r = 0; l < left.size() && r < right.size();) {
      if (SameKind(left[l], right[r])) {
        Join(left[l++], right[r++]);
      } else {
        length[(l + 1) * columns + r] >= length[l * columns + r + 1] ? ++l : ++r;
      }
    }
  }

  // The first unit of a kind with the first of that kind, and so on.
  void MatchInOrder(const std::vector<size_t>& left, const std::vector<size_t>& right) {
    absl::flat_hash_map<std::string, std::vector<size_t>> by_kind;
    for (auto j = right.rbegin(); j != right.rend(); ++j) by_kind[head_[*j].kind].push_back(*j);
    for (size_t i : left) {
      const auto found = by_kind.find(base_[i].kind);
      if (found == by_kind.end() || found->second.empty()) continue;
      Join(i, found->second.back());
      found->second.pop_back();
    }
  }

  Units base_, head_;
  std::vector<size_t> mate_of_base_, mate_of_head_;
};

bool Before(const MatchUnit& a, const MatchUnit& b) {
  return std::tie(a.path, a.name, a.kind) < std::tie(b.path, b.name, b.kind);
}

}  // namespace

std::vector<MatchedPair> MatchUnits(absl::Span<const MatchUnit> base, absl::Span<const MatchUnit> head) {
  // Of several alignments that are as long, the one found depends on the order of the arguments: always ask in one.
  if (!std::lexicographical_compare(head.begin(), head.end(), base.begin(), base.end(), Before)) {
    return Matcher(base, head).Run();
  }
  std::vector<MatchedPair> pairs = Matcher(head, base).Run();
  for (MatchedPair& pair : pairs) std::swap(pair.base, pair.head);
  std::sort(pairs.begin(), pairs.end(), [](const MatchedPair& a, const MatchedPair& b) { return a.base < b.base; });
  return pairs;
}

}  // namespace onnx_mem
