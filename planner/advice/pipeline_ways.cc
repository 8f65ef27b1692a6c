// A pipeline that needs less of its ranks: what torch's schedules can do besides.
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

Proposal WithPipeline(const Situation& s, std::string change, std::vector<std::string> flags, PipelineLayout pipeline) {
  Proposal proposal{std::move(change), std::move(flags), "", Price::kNothing, s.workload};
  proposal.workload.layout.pipeline = std::move(pipeline);
  return proposal;
}

}  // namespace

std::vector<Proposal> ProposeNoOutputs(const Situation& s) {
  PipelineLayout pipeline = s.workload.layout.pipeline;
  if (!IsPipeline(s.workload.layout) || !pipeline.return_outputs) return {};
  pipeline.return_outputs = false;
  Proposal proposal = WithPipeline(s, "the last stage keeps no outputs", {"--no-return-outputs"}, std::move(pipeline));
  proposal.cost = "step(return_outputs=False)";
  return {std::move(proposal)};
}

// Each stage then holds the activations of at most as many micro-batches as there are ranks, not of all.
std::vector<Proposal> ProposeOneForwardOneBackward(const Situation& s) {
  PipelineLayout pipeline = s.workload.layout.pipeline;
  if (!IsPipeline(s.workload.layout) || pipeline.schedule != PipelineSchedule::kGpipe) return {};
  pipeline.schedule = PipelineSchedule::k1F1B;
  return {WithPipeline(s, "1F1B in place of GPipe", {"--schedule", "1f1b"}, std::move(pipeline))};
}

std::vector<Proposal> ProposeMicroBatches(const Situation& s) {
  if (!IsPipeline(s.workload.layout)) return {};
  std::vector<Proposal> changes;
  const int64_t now = MicroBatchesOf(s.workload.layout.pipeline);
  for (int64_t count = 2 * now; count <= s.batch; count *= 2) {
    if (s.batch % count != 0) break;
    PipelineLayout pipeline = s.workload.layout.pipeline;
    pipeline.micro_batches = count;
    Proposal change = WithPipeline(s, absl::StrCat(count, " micro-batches of ", s.batch / count),
                                   {"--micro-batches", absl::StrCat(count)}, std::move(pipeline));
    change.price = Price::kTime;
    change.cost = s.enacted->batch_statistics ? absl::StrCat("BatchNorm sees ", s.batch / count) : "smaller kernels";
    changes.push_back(std::move(change));
    if (!s.budget_bytes) break;
  }
  return changes;
}

}  // namespace onnx_mem
