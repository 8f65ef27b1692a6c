#include "analyzer/parallel/fsdp_hooks.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
FsdpHooks::FsdpHooks(const StepFacts& facts, const RankLayout& layout, std::vector<FsdpUnit> units, StepEditor& editor)
    : facts_(facts),
      layout_(layout),
      units_(std::move(units)),
      editor_(editor),
      states_(units_.size()),
      place_of_(facts_.parameters.size()) {
  for (size_t u = 0; u < units_.size(); ++u) {
    states_[u].accumulates.resize(units_[u].parameters.size());
    for (size_t k = 0; k < units_[u].parameters.size(); ++k) place_of_[units_[u].parameters[k].index] = {u, k};
  }
}

void FsdpHooks::OpenShards(const MemoryProgram& program) {
  if (layout_.host) return;
  for (const FsdpUnit& unit : units_) {
    for (const ShardedParameter& p : unit.parameters) {
      Buffer shard = program.buffers[facts_.parameters[p.index].buffer];
      shard.bytes = p.shard_bytes;
      shard.dtype = p.dtype;
      shard.kept_by = "the rank's shard of the parameter";
      editor_.OpenStatic(std::move(shard));
    }
  }
}

void FsdpHooks::Before(StepId id) {
  for (size_t u = 0; u < units_.size(); ++u) {  // outer units first
    if (units_[u].forward && units_[u].forward->first == id) PreForward(u);
  }
  if (id == facts_.first_backward) PreBackward(0);
  for (size_t u = 1; u < units_.size(); ++u) {
    if (units_[u].backward && units_[u].backward->first == id) PreBackward(u);
  }
  if (id == facts_.end_of_backward && sync_ != GradientSync::kByHand) FinalCallback();
}

void FsdpHooks::After(StepId id) {
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

bool FsdpHooks::Takes(const Buffer& buffer, BufferId id, BufferId moved) {
  const auto arrived = facts_.arrivals.find(id);
  if (buffer.category != Category::kGradients || arrived == facts_.arrivals.end()) return false;
  arriving_.push_back({arrived->second, moved, buffer.dtype});
  return true;
}

void FsdpHooks::EndMicroBatch() {
  order_.clear();
  for (UnitState& state : states_) {
    state.forwards.clear();
    state.backward_done = false;
  }
}

void FsdpHooks::FinalizeBackward() {
  std::vector<size_t> by_forward;
  for (size_t u = 0; u < units_.size(); ++u) by_forward.push_back(u);
  StableSort(by_forward, [&](size_t a, size_t b) {
    const auto first = [&](size_t u) { return units_[u].forward ? units_[u].forward->first : StepId(); };
    return first(a) < first(b);  // named_modules, as far as they run; the root is the first
  });
  for (auto u = by_forward.rbegin(); u != by_forward.rend(); ++u) {
    Reshard(*u);
    CloseAll(reduce_inputs_);
    Reduce(*u);
  }
  CloseAll(reduce_inputs_);
  CloseAll(reduce_outputs_);
  for (UnitState& state : states_) editor_.CloseIfOpen(state.all_gather);
}

// Gradients that are not reduced stay in the parameter's own type, and later ones are added to them in place.
void FsdpHooks::Arrive(const Arriving& gradient) {
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

void FsdpHooks::PreForward(size_t u) {
  Gather(u);
  CopyOut(u, /*forward=*/true);
}

void FsdpHooks::PostForward(size_t u) {
  if (layout_.reshard == Reshard::kToSmallerMesh) ToSmallerMesh(u);
  if (ReshardsBehindForward(u)) Reshard(u);
  if (!units_[u].parameters.empty()) {  // else it is no group of parameters
    states_[u].forwards.push_back(order_.size());
    order_.push_back(u);
  }
  if (u == 0) editor_.CloseIfOpen(last_all_gather_);
}

// The unit that ran before its latest forward is gathered ahead.
void FsdpHooks::PreBackward(size_t u) {
  Gather(u);
  CopyOut(u, /*forward=*/false);
  std::vector<size_t>& forwards = states_[u].forwards;
  if (forwards.empty()) return;
  const size_t place = forwards.back();
  forwards.pop_back();
  if (place > 0) Gather(order_[place - 1]);
}

void FsdpHooks::PostBackward(size_t u) {
  if (states_[u].backward_done || sync_ == GradientSync::kByHand) return;
  states_[u].backward_done = true;
  Reshard(u);
  if (!Reduces()) return;
  CloseAll(reduce_inputs_);
  Reduce(u);
}

// Of units whose inputs need no gradient the backward ends here, the root's first. What was gathered ahead for a unit
// whose backward never came is freed.
void FsdpHooks::FinalCallback() {
  for (size_t u = 0; u < units_.size(); ++u) PostBackward(u);
  CloseAll(reduce_inputs_);
  CloseAll(reduce_outputs_);
  for (UnitState& state : states_) editor_.CloseIfOpen(state.all_gather);
}

bool FsdpHooks::ReshardsBehindForward(size_t u) const {
  switch (layout_.reshard) {
    case Reshard::kDefault: return u != 0;
    case Reshard::kNo: return false;
    case Reshard::kYes:
    case Reshard::kToSmallerMesh: break;
  }
  return true;
}

BufferId FsdpHooks::Open(std::string_view name, Category category, int64_t bytes, std::string_view kept_by, size_t u) {
  Buffer buffer;
  buffer.name = name;
  buffer.category = category;
  buffer.bytes = bytes;
  buffer.kept_by = kept_by;
  buffer.module = units_[u].module;
  return editor_.Open(std::move(buffer));
}

void FsdpHooks::CloseAll(std::vector<BufferId>& buffers) {
  for (const BufferId id : buffers) editor_.Close(id);
  buffers.clear();
}

}  // namespace onnx_mem
