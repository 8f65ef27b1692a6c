// Changes of a line that compute the same: in-place activations, a fused attention kernel, segments that grow.
#include "planner/advice/way.h"

namespace onnx_mem {

std::vector<Proposal> ProposeInPlace(const Situation& s) {
  if (s.workload.run.inplace != "auto" && s.workload.run.inplace != "none") return {};
  Proposal change{
      "activations in place", {"--inplace", "."}, "inplace=True wherever it is safe", Price::kNothing, s.workload};
  change.workload.run.inplace = ".";
  return {change};
}

std::vector<Proposal> ProposeInPlaceNorms(const Situation& s) {
  if (s.workload.run.inplace != "auto" || s.workload.mode != Mode::kTraining || !s.enacted->batch_statistics) return {};
  Proposal change{"BatchNorm in place with its activation",
                  {"--inplace", "norms"},
                  "inplace_abn, LeakyReLU for ReLU",
                  Price::kTraining,
                  s.workload};
  change.workload.run.inplace = "norms";
  return {change};
}

std::vector<Proposal> ProposeAttentionKernel(const Situation& s) {
  const AttentionKernel now = s.workload.run.attention;
  if (now == AttentionKernel::kFlash || now == AttentionKernel::kEfficient) return {};
  std::vector<Proposal> changes;
  // Flash takes 16-bit types only; the accountant says whether the model has an attention that either can take.
  const bool half = s.workload.run.autocast || s.workload.run.dtype;
  Proposal change{half ? "flash attention" : "memory-efficient attention",
                  {"--attention", half ? "flash" : "efficient"},
                  "F.scaled_dot_product_attention",
                  Price::kNothing,
                  s.workload};
  change.workload.run.attention = half ? AttentionKernel::kFlash : AttentionKernel::kEfficient;
  changes.push_back(std::move(change));
  return changes;
}

std::vector<Proposal> ProposeExpandableSegments(const Situation& s) {
  if (s.workload.allocator != "pytorch") return {};
  Proposal change{"expandable_segments:True",
                  {"--allocator", "pytorch-expandable"},
                  "set in " + std::string(AllocatorVariable(s.workload.platform.Torch())),
                  Price::kNothing,
                  s.workload};
  change.workload.allocator = "pytorch-expandable";
  return {change};
}

}  // namespace onnx_mem
