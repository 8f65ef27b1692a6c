// Smaller batches: with as many samples per optimizer step, whose gradients add up, or with fewer.
#include "absl/strings/str_cat.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

// Inputs that are given whole have their batch in them, which no -b can change.
bool CanShrink(const Situation& s) {
  return s.batch > 1 && s.workload.bindings.inputs.empty() && CheckedMul(s.batch, s.workload.run.accumulate);
}

// Of an odd batch; that of a prime is itself, which leaves single samples. Batches of billions are only looked at as
// far as anybody would divide them.
int64_t SmallestDivisor(int64_t batch) {
  constexpr int64_t kMostParts = 1 << 16;
  for (int64_t parts = 3; parts <= kMostParts && parts <= batch / parts; parts += 2) {
    if (batch % parts == 0) return parts;
  }
  return batch;
}

// `parts` micro-batches of batch / parts.
Proposal InParts(const Situation& s, int64_t parts) {
  const int64_t micro = s.batch / parts;
  const int64_t accumulate = s.workload.run.accumulate * parts;
  Proposal change{absl::StrCat("batch ", micro, ", accumulate ", accumulate),
                  {"-b", absl::StrCat(micro), "--accumulate", absl::StrCat(accumulate)},
                  s.enacted->batch_statistics ? absl::StrCat("BatchNorm sees ", micro) : "",
                  Price::kTime,
                  s.workload};
  change.workload.bindings.batch = micro;
  change.workload.run.accumulate = accumulate;
  return change;
}

}  // namespace

std::vector<Proposal> ProposeAccumulation(const Situation& s) {
  // A step of a pipeline has micro-batches already.
  if (s.workload.mode != Mode::kTraining || !CanShrink(s) || IsPipeline(s.workload.layout)) return {};
  std::vector<Proposal> changes;
  // Without a budget to meet, halves; with one, all that divide the batch and keep a power of two apart.
  for (int64_t parts = 2; parts <= s.batch; parts *= 2) {
    if (s.batch % parts != 0) break;
    changes.push_back(InParts(s, parts));
    if (!s.budget_bytes) break;
  }
  if (changes.empty()) changes.push_back(InParts(s, SmallestDivisor(s.batch)));
  return changes;
}

std::vector<Proposal> ProposeSmallerBatch(const Situation& s) {
  if (!CanShrink(s)) return {};
  const RankLayout& layout = s.workload.layout;
  const int64_t parts = IsPipeline(layout) ? MicroBatchesOf(layout.pipeline) : 1;
  const int64_t half = s.batch / 2 / parts * parts;
  if (half == 0) return {};
  Proposal change{
      absl::StrCat("batch ", half), {"-b", absl::StrCat(half)}, "fewer samples per step", Price::kTask, s.workload};
  if (s.workload.mode == Mode::kInference) change.cost = "more calls";
  change.workload.bindings.batch = half;
  return {change};
}

}  // namespace onnx_mem
