// The work that one question (a command of the program, a call of the library) may cause. Reading a large file takes
// time proportional to its size, which is allowed. A small file whose loops are unrolled, or whose recurrence has a
// million steps, would keep `fit`, which analyzes it some hundred times, busy for minutes. So each stage counts the
// work that it does beyond what a file of that size normally takes, in whatever command, and past a limit the question
// ends with the error too-large. Work is counted in steps and not in seconds, so that a slow machine gives the same
// answers as a fast one.
#ifndef ONNX_MEM_ANALYZER_RUN_WORK_H_
#define ONNX_MEM_ANALYZER_RUN_WORK_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem::work {

// Steps of a training step or an inference, of half a microsecond. What takes longer counts as several.
inline constexpr int64_t kBudget = 2'500'000;
// The share after which advice is no longer looked for: the rest is for the answer.
inline constexpr double kAdviceShare = 0.5;
inline constexpr int64_t kOfInference = 12;  // of a node's shapes
inline constexpr int64_t kOfUnrolling = 8;   // of a node that a loop's body leaves, with the copy of the model
inline constexpr int64_t kOfLowering = 4;    // of a node
inline constexpr int64_t kOfFigures = 2;     // of a step, by the allocator
inline constexpr int64_t kOfProof = 8;       // of a step, as an operator of a step graph

struct Ledger {
  int questions = 0;  // one within another; without any, nothing is counted
  int64_t free = 0;   // of each hop: what a file of this size may take
  int64_t spent = 0;
};
inline Ledger& Current() {
  static thread_local Ledger ledger;
  return ledger;
}

// Counts while it lives, from nothing. One question may stand in another: the outer one counts.
class Counting {
 public:
  Counting() { ++Current().questions; }
  ~Counting() {
    if (--Current().questions == 0) Current() = Ledger{};
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
};

// A file of so many bytes, weights aside, is requested. Exporters write a node in a hundred and more bytes, which
// become half a dozen steps.
inline void Allow(int64_t stored_bytes) { Current().free = std::max(Current().free, stored_bytes / 8); }

inline void Spend(int64_t steps) {
  Ledger& ledger = Current();
  if (ledger.questions > 0) ledger.spent += std::clamp<int64_t>(steps - ledger.free, 0, 2 * kBudget);
}

// What only adds to an answer (advice, the search for a better plan) stops at a share of the budget.
inline bool HasLeft(double share = 1.0) {
  return static_cast<double>(Current().spent) <= share * static_cast<double>(kBudget);
}

// Error: InvalidArgument "too-large" when the budget is spent.
inline absl::Status CheckLeft() {
  if (HasLeft()) return absl::OkStatus();
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                     "the file makes so much of the little that it holds that this question is not worked out",
                     {"why: loops, functions or recurrences in it stand for far more operators than it lists",
                      "way out: shorter inputs (--dim, --input), or onnx-mem MODEL -q, which asks least"});
}

}  // namespace onnx_mem::work

#endif  // ONNX_MEM_ANALYZER_RUN_WORK_H_
