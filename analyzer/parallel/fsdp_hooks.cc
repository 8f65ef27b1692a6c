#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/parallel/fsdp_writer.h"

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

void FsdpWriter::Before(StepId id) {
  if (id == StepId(0)) ConvertInputs();
  for (size_t u = 0; u < units_.size(); ++u) {  // outer units first
    if (units_[u].forward && units_[u].forward->first == id) PreForward(u);
  }
  if (id == facts_.first_backward) PreBackward(0);
  for (size_t u = 1; u < units_.size(); ++u) {
    if (units_[u].backward && units_[u].backward->first == id) PreBackward(u);
  }
  if (id == facts_.end_of_backward) {
    CloseAll(converted_);
    FinalCallback();
  }
}

void FsdpWriter::After(StepId id) {
  std::vector<Arriving> arrived;
  std::erase_if(arriving_, [&](const Arriving& gradient) {
    if (gradient.at.step > id) return false;
    arrived.push_back(gradient);
    return true;
  });
  for (const Arriving& gradient : arrived) Arrive(gradient);
  for (size_t u = units_.size(); u-- > 0;) {  // inner units first
    if (units_[u].forward && units_[u].forward->last == id) PostForward(u);
  }
  for (size_t u = units_.size(); u-- > 1;) {
    const FsdpUnit& unit = units_[u];
    if (unit.backward && unit.backward->last == id && unit.inputs_need_gradient) PostBackward(u);
  }
}

// Gradients that are not reduced stay in the parameter's own type, and later ones are added to them in place.
void FsdpWriter::Arrive(const Arriving& gradient) {
  const auto [u, k] = place_of_[gradient.at.parameter];
  UnitState& state = states_[u];
  BufferId arrived = gradient.buffer;
  const ShardedParameter& p = units_[u].parameters[k];
  if (AddsUp() && state.accumulates[k]) {
    editor_.Close(arrived);
    return;
  }
  if (AddsUp() && gradient.dtype != p.dtype) {
    editor_.Event("_to_copy", units_[u].module);
    const OwnedParameter& whole = facts_.parameters[p.index];
    const BufferId own = Open(absl::StrCat("gradient of ", whole.name), Category::kGradients,
                              whole.elements * RowOf(p.dtype).bits / 8, "kept until gradients are reduced", u);
    editor_.Close(arrived);
    arrived = own;
  }
  state.accumulates[k] = AddsUp();
  state.gradients.push_back(arrived);
}

void FsdpWriter::PreForward(size_t u) {
  Gather(u);
  CopyOut(u, /*forward=*/true);
}

void FsdpWriter::PostForward(size_t u) {
  if (layout_.reshard == Reshard::kToSmallerMesh) ToSmallerMesh(u);
  if (ReshardsBehindForward(u)) Reshard(u);
  order_.push_back(u);
  if (u == 0) Close(last_all_gather_);
}

// The unit that ran before is gathered ahead.
void FsdpWriter::PreBackward(size_t u) {
  Gather(u);
  CopyOut(u, /*forward=*/false);
  const auto at = std::find(order_.begin(), order_.end(), u);
  if (at != order_.end() && at != order_.begin()) Gather(*std::prev(at));
}

void FsdpWriter::PostBackward(size_t u) {
  if (states_[u].backward_done) return;
  states_[u].backward_done = true;
  Reshard(u);
  if (!Reduces()) return;
  CloseAll(reduce_inputs_);
  Reduce(u);
}

// Of units whose inputs need no gradient the backward ends here, the root's first. What was gathered ahead for a unit
// whose backward never came is freed.
void FsdpWriter::FinalCallback() {
  for (size_t u = 0; u < units_.size(); ++u) PostBackward(u);
  CloseAll(reduce_inputs_);
  CloseAll(reduce_outputs_);
  for (UnitState& state : states_) Close(state.all_gather);
}

// foreach_all_gather: one buffer for all ranks' shards, of which the rank's own slice is the input. Shards that are
// converted or come from the host are copied first.
void FsdpWriter::Gather(size_t u) {
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

int64_t FsdpWriter::GatherInputBytes(size_t u) const {
  return states_[u].smaller.empty() ? Sum(units_[u], &ShardedParameter::cast_shard_bytes) : states_[u].smaller_bytes;
}

// wait_for_unshard: a storage for each parameter. In the forward the gathered buffer stays until the next unit's has
// been copied out.
void FsdpWriter::CopyOut(size_t u, bool forward) {
  UnitState& state = states_[u];
  const FsdpUnit& unit = units_[u];
  if (!state.unsharded.empty() || (!state.all_gather.valid() && layout_.ranks > 1)) return;
  if (forward) Close(last_all_gather_);
  editor_.Event("split_with_sizes_copy", unit.module);
  for (const ShardedParameter& p : unit.parameters) {
    state.unsharded.push_back(Open(absl::StrCat("unsharded ", facts_.parameters[p.index].name),
                                   Category::kUnshardedParameters, p.unsharded_bytes, "until the unit has run", u));
  }
  if (forward) {
    last_all_gather_ = state.all_gather;
    state.all_gather = BufferId();
  } else {
    Close(state.all_gather);
  }
  CloseAll(state.smaller);
}

void FsdpWriter::Reshard(size_t u) { CloseAll(states_[u].unsharded); }

// One parameter after another: the part for a smaller mesh is copied, then the whole one is freed.
void FsdpWriter::ToSmallerMesh(size_t u) {
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

bool FsdpWriter::ReshardsBehindForward(size_t u) const {
  switch (layout_.reshard) {
    case Reshard::kDefault: return u != 0;
    case Reshard::kNo: return false;
    case Reshard::kYes:
    case Reshard::kToSmallerMesh: break;
  }
  return true;
}

// foreach_reduce: all gradients in one buffer, whose reduction backs the sharded ones unless they have another type.
void FsdpWriter::Reduce(size_t u) {
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

BufferId FsdpWriter::Open(std::string_view name, Category category, int64_t bytes, std::string_view kept_by, size_t u) {
  Buffer buffer;
  buffer.name = name;
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.kept_by = kept_by;
  buffer.module = units_[u].module;
  return editor_.Open(std::move(buffer));
}

void FsdpWriter::CloseAll(std::vector<BufferId>& buffers) {
  for (const BufferId id : buffers) editor_.Close(id);
  buffers.clear();
}

}  // namespace onnx_mem
