#include "analyzer/snapshot/owners.h"

#include <array>

#include "absl/container/flat_hash_map.h"

namespace onnx_mem {
namespace {

constexpr std::array<std::string_view, kNumOwners> kNames = {
    "parameters",      "gradients",
    "optimizer_state", "optimizer_temporaries",
    "activations",     "activation_gradients",
    "inputs",          "model_copies",
    "workspaces",      "unknown",
};

Owner OwnerByStack(const HeldBlock& block, const HistoryView& view, const StackFacts& facts) {
  if (facts.copied) return Owner::kCopies;
  switch (facts.made_by) {
    case MadeBy::kConstructor: return Owner::kParameters;
    case MadeBy::kModules: return Owner::kActivations;
    case MadeBy::kData: return Owner::kInputs;
    case MadeBy::kWorkspace: return Owner::kWorkspaces;
    case MadeBy::kOptimizer: {
      const bool step_ended = view.last_event > view.optimizer_event;
      return facts.state || step_ended || block.outlives ? Owner::kOptimizerState : Owner::kOptimizerTemporaries;
    }
    case MadeBy::kBackward: {
      if (block.event < 0) return Owner::kUnknown;
      const bool pass_runs = view.in_backward && block.pass == view.passes - 1;
      return pass_runs && !block.outlives ? Owner::kActivationGradients : Owner::kGradients;
    }
    case MadeBy::kOwnCode: return view.freed_in_backward.contains(block.stack) ? Owner::kActivations : Owner::kUnknown;
    case MadeBy::kNothingKnown: return Owner::kUnknown;
  }
  return Owner::kUnknown;
}

// Gives `to` what `from` has too many of: blocks of `from` whose size one of `sizes` has.
void Reassign(const std::vector<HeldBlock>& held, Owner from, Owner to, absl::flat_hash_map<int64_t, int64_t> sizes,
              bool older_than_history, std::vector<Owner>& owners) {
  for (size_t i = 0; i < held.size(); ++i) {
    if (owners[i] != from || (older_than_history && held[i].event >= 0)) continue;
    const auto open = sizes.find(held[i].bytes);
    if (open == sizes.end() || open->second == 0) continue;
    --open->second;
    owners[i] = to;
  }
}

absl::flat_hash_map<int64_t, int64_t> SizesOf(const std::vector<HeldBlock>& held, const std::vector<Owner>& owners,
                                              Owner owner) {
  absl::flat_hash_map<int64_t, int64_t> sizes;
  for (size_t i = 0; i < held.size(); ++i) {
    if (owners[i] == owner) ++sizes[held[i].bytes];
  }
  return sizes;
}

}  // namespace

std::string_view NameOf(Owner owner) { return kNames[static_cast<size_t>(owner)]; }

std::vector<Owner> OwnersOf(const HistoryView& view, const std::vector<StackFacts>& facts) {
  std::vector<Owner> owners;
  for (const HeldBlock& block : view.held) owners.push_back(OwnerByStack(block, view, facts[block.stack]));
  for (Owner evidence : {Owner::kGradients, Owner::kOptimizerState}) {
    const bool known = !SizesOf(view.held, owners, Owner::kParameters).empty();
    if (!known) {
      Reassign(view.held, Owner::kUnknown, Owner::kParameters, SizesOf(view.held, owners, evidence), true, owners);
    }
  }
  Reassign(view.held, Owner::kActivationGradients, Owner::kGradients, SizesOf(view.held, owners, Owner::kParameters),
           false, owners);
  return owners;
}

}  // namespace onnx_mem
