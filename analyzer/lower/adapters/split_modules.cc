#include "analyzer/lower/adapters/split_modules.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/adapters/split_weights.h"
#include "analyzer/lower/adapters/transformer_plan.h"

namespace onnx_mem {
namespace {

// torch splits the first dimension of a Linear's weight by columns; a Conv1D stores it the other way round.
bool IsStoredAsLinear(const FrameworkNode& node, TensorId weight) {
  return node.op == "embedding" || SplitAxisOf(node, weight, TensorStyle::kColwise) == 0;
}

class TorchStyles {
 public:
  explicit TorchStyles(const Lowered& lowered) : lowered_(lowered) {}

  bool Has(const StyledModule& module) {
    if (module.style == TensorStyle::kSequence || module.style == TensorStyle::kGatherInput) return true;
    if (module.pieces > 1) return false;
    const auto& nodes = lowered_.graph.nodes;
    for (int32_t i = module.first; i <= module.last; ++i) {
      const FrameworkNode& node = nodes[NodeId(i)];
      const TensorId weight = SplitWeightOf(lowered_, nodes, node);
      if (!weight.valid()) continue;
      const auto [owner, is_new] = owners_.try_emplace(weight, module.path);
      const bool shared = !is_new && owner->second != module.path;
      if (shared || node.module != module.path || !IsStoredAsLinear(node, weight)) return false;
    }
    return true;
  }

 private:
  const Lowered& lowered_;
  absl::flat_hash_map<TensorId, std::string> owners_;  // of weights: a tie does not outlive parallelize_module
};

}  // namespace

absl::StatusOr<std::vector<StyledModule>> StyledPlanOf(const Lowered& lowered, const TensorLayout& layout) {
  if (layout.plan.empty()) return FindTransformerPlan(lowered, layout);
  TensorPlan plan = layout.plan;
  if (layout.sequence) plan.insert(plan.end(), layout.sequence_plan.begin(), layout.sequence_plan.end());
  return StyledModulesOf(lowered.graph, plan);
}

absl::StatusOr<std::vector<SplitModule>> SplitModulesOf(const Lowered& lowered, const TensorLayout& layout) {
  ASSIGN_OR_RETURN(const std::vector<StyledModule> styled, StyledPlanOf(lowered, layout));
  TorchStyles torch(lowered);
  std::vector<SplitModule> modules;
  absl::flat_hash_set<std::string> seen;
  for (const StyledModule& module : styled) {
    const bool in_torch = torch.Has(module);
    if (seen.insert(module.path).second) modules.push_back({module.path, module.style, in_torch});
  }
  return modules;
}

}  // namespace onnx_mem
