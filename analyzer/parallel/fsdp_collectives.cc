// What a unit exchanges with the other ranks: its parameters are gathered, its gradients reduced.
#include "absl/strings/str_cat.h"
#include "analyzer/parallel/fsdp_hooks.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kByFsdp = "held by fully_shard";

int64_t Sum(const FsdpUnit& unit, int64_t ShardedParameter::*bytes, bool trained_alone = false) {
  int64_t sum = 0;
  for (const ShardedParameter& p : unit.parameters) {
    if (p.trained || !trained_alone) sum += p.*bytes;
  }
  return sum;
}

std::string NameOf(const FsdpUnit& unit) { return unit.module.empty() ? "the root" : unit.module; }

}  // namespace

// foreach_all_gather: one buffer for all ranks' shards, of which the rank's own slice is the input. Shards that are
// converted or come from the host are copied first.
void FsdpHooks::Gather(size_t u) {
  UnitState& state = states_[u];
  if (state.all_gather.valid() || !state.unsharded.empty() || layout_.ranks == 1) return;
  const FsdpUnit& unit = units_[u];
  const int64_t bytes = Sum(unit, &ShardedParameter::unsharded_bytes);
  if (bytes == 0) return;
  editor_.Event("all_gather", unit.module);
  std::vector<BufferId> inputs;
  if (layout_.host) {
    inputs.push_back(Open(absl::StrCat("shards of ", NameOf(unit), " from the host"), Category::kCommunication,
                          Sum(unit, &ShardedParameter::shard_bytes), kByFsdp, u));
  }
  if (layout_.unsharded_type) {
    inputs.push_back(Open(absl::StrCat("converted shards of ", NameOf(unit)), Category::kCommunication,
                          GatherInputBytes(u), kByFsdp, u));
  }
  state.all_gather = Open(absl::StrCat("all-gather of ", NameOf(unit)), Category::kCommunication, bytes, kByFsdp, u);
  CloseAll(inputs);
}

int64_t FsdpHooks::GatherInputBytes(size_t u) const {
  return states_[u].smaller.empty() ? Sum(units_[u], &ShardedParameter::cast_shard_bytes) : states_[u].smaller_bytes;
}

// wait_for_unshard: a storage for each parameter. In the forward the gathered buffer stays until the next unit's has
// been copied out.
void FsdpHooks::CopyOut(size_t u, bool forward) {
  UnitState& state = states_[u];
  const FsdpUnit& unit = units_[u];
  if (!state.unsharded.empty() || (!state.all_gather.valid() && layout_.ranks > 1)) return;
  if (forward) editor_.CloseIfOpen(last_all_gather_);
  editor_.Event("split_with_sizes_copy", unit.module);
  for (const ShardedParameter& p : unit.parameters) {
    state.unsharded.push_back(Open(absl::StrCat("unsharded ", facts_.parameters[p.index].name),
                                   Category::kUnshardedParameters, p.unsharded_bytes, "until the unit has run", u));
  }
  if (forward) {
    last_all_gather_ = state.all_gather;
    state.all_gather = BufferId();
  } else {
    editor_.CloseIfOpen(state.all_gather);
  }
  CloseAll(state.smaller);
}

void FsdpHooks::Reshard(size_t u) { CloseAll(states_[u].unsharded); }

// One parameter after another: the part for a smaller mesh is copied, then the whole one is freed.
void FsdpHooks::ToSmallerMesh(size_t u) {
  UnitState& state = states_[u];
  const FsdpUnit& unit = units_[u];
  state.smaller_bytes = 0;
  for (size_t k = 0; k < state.unsharded.size(); ++k) {
    const ShardedParameter& p = unit.parameters[k];
    const int64_t bytes = p.unsharded_bytes / layout_.reshard_ranks;
    editor_.Event("clone", unit.module);
    state.smaller.push_back(Open(absl::StrCat(facts_.parameters[p.index].name, " on the smaller mesh"),
                                 Category::kUnshardedParameters, bytes, "until it is gathered again", u));
    state.smaller_bytes += bytes;
    editor_.Close(state.unsharded[k]);
  }
  state.unsharded.clear();
}

// foreach_reduce: all gradients in one buffer, whose reduction backs the sharded ones unless they have another type.
void FsdpHooks::Reduce(size_t u) {
  UnitState& state = states_[u];
  const FsdpUnit& unit = units_[u];
  const int64_t out_bytes = Sum(unit, &ShardedParameter::reduced_shard_bytes, /*trained_alone=*/true);
  if (out_bytes == 0) return;
  editor_.Event("chunk_cat", unit.module);
  reduce_inputs_.push_back(Open(absl::StrCat("gradients of ", NameOf(unit), " to reduce"), Category::kCommunication,
                                out_bytes * layout_.ranks, kByFsdp, u));
  CloseAll(state.gradients);
  state.accumulates.assign(unit.parameters.size(), false);
  editor_.Event("reduce_scatter", unit.module);
  const std::string name = absl::StrCat("gradient shards of ", NameOf(unit));
  BufferId shards = Open(name, Category::kGradients, out_bytes, "kept for the optimizer", u);
  const int64_t own_bytes = Sum(unit, &ShardedParameter::shard_bytes, /*trained_alone=*/true);
  if (own_bytes != out_bytes) {
    editor_.Event("_to_copy", unit.module);
    const BufferId own = Open(name, Category::kGradients, own_bytes, "kept for the optimizer", u);
    if (layout_.replicas > 1) {
      reduce_outputs_.push_back(shards);  // the all-reduce among copies holds it (AllReduceState)
    } else {
      editor_.Close(shards);
    }
    shards = own;
  }
  const bool there = state.gradient_shards.valid();  // it is added to what earlier micro-batches left
  if (there || layout_.host) {
    editor_.Close(shards);
  } else {
    state.gradient_shards = shards;
  }
}

}  // namespace onnx_mem
