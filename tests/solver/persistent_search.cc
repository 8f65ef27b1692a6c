#include "tests/solver/persistent_search.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

enum class Kept : char { kNothing, kOutput, kAll };

class Search {
 public:
  Search(const ChainArrays& arrays, int64_t budget_bytes)
      : arrays_(arrays), budget_bytes_(budget_bytes), count_(static_cast<int>(arrays.a.size())) {}

  std::optional<int64_t> Run() {
    const int64_t cost = BeforeBackward(std::vector<Kept>(arrays_.a.size(), Kept::kNothing), count_ - 1);
    if (cost >= kNever) return std::nullopt;
    return cost;
  }

 private:
  static constexpr int64_t kNever = int64_t{1} << 50;

  int64_t KeptBytes(const std::vector<Kept>& kept) const {
    int64_t bytes = arrays_.base;
    for (int l = 0; l < count_; ++l) {
      if (kept[l] == Kept::kOutput) bytes += arrays_.a[l];
      if (kept[l] == Kept::kAll) bytes += arrays_.S[l];
    }
    return bytes;
  }

  // The backward of block `next` is the next to run.
  int64_t BeforeBackward(const std::vector<Kept>& kept, int next) {
    if (next < 0) return 0;
    const auto key = std::pair(next, kept);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
    int64_t cost = kNever;
    if (kept[next] == Kept::kAll) {
      cost = Backward(kept, next);
    } else {
      int start = next;
      while (start > 0 && kept[start - 1] == Kept::kNothing) --start;
      cost = Sweep(kept, start, next, /*temporary=*/-1);
    }
    return known_[key] = cost;
  }

  // Runs block `at` of a sweep; `temporary` is the block whose plain output is there for this run only.
  int64_t Sweep(std::vector<Kept> kept, int at, int next, int temporary) {
    if (at > next) return Backward(kept, next);
    int64_t before = KeptBytes(kept) + arrays_.g[next];
    if (temporary >= 0) before += arrays_.a[temporary];
    int64_t best = kNever;
    if (before + arrays_.S[at] + arrays_.oe[at] <= budget_bytes_ && temporary < 0) {
      kept[at] = Kept::kAll;
      best = std::min(best, arrays_.f[at] + Sweep(kept, at + 1, next, -1));
    }
    if (at < next && before + arrays_.a[at] + arrays_.of[at] <= budget_bytes_) {
      kept[at] = Kept::kOutput;
      best = std::min(best, arrays_.f[at] + Sweep(kept, at + 1, next, -1));
      kept[at] = Kept::kNothing;
      best = std::min(best, arrays_.f[at] + Sweep(kept, at + 1, next, at));
    }
    return best;
  }

  int64_t Backward(std::vector<Kept> kept, int block) {
    const int64_t input_gradient = block > 0 ? arrays_.g[block - 1] : 0;
    if (KeptBytes(kept) + arrays_.g[block] + input_gradient + arrays_.ob[block] > budget_bytes_) return kNever;
    kept[block] = Kept::kNothing;
    if (block > 0 && kept[block - 1] == Kept::kOutput) kept[block - 1] = Kept::kNothing;
    return BeforeBackward(kept, block - 1);
  }

  const ChainArrays& arrays_;
  const int64_t budget_bytes_;
  const int count_;
  std::map<std::pair<int, std::vector<Kept>>, int64_t> known_;
};

}  // namespace

std::optional<int64_t> CheapestPersistent(const ChainArrays& arrays, int64_t budget_bytes) {
  return Search(arrays, budget_bytes).Run();
}

}  // namespace onnx_mem
