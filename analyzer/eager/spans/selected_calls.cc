#include "analyzer/eager/spans/selected_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/run/host_calls.h"

namespace onnx_mem::eager {
namespace {

absl::Status BadPlan(const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPlan, absl::StrCat("the plan's calls: ", what));
}

}  // namespace

SelectedCalls::SelectedCalls(Machine& machine, const Lowered& lowered, const NodeRange& range,
                             std::shared_ptr<HostCall> host)
    : m_(machine), lowered_(lowered), range_(range), calls_(machine, lowered), host_(std::move(host)) {
  for (const KeptCall& kept : range.keep_calls) wanted_.emplace(kept.call, &kept);
  for (const KeptCall& kept : range.host_calls) wanted_on_host_.emplace(kept.call, &kept);
}

void SelectedCalls::BeginNode(int32_t node) {
  node_ = node;
  current_ = -1;
  dispatched_.clear();
  if (!again_) calls_.BeginNode(node);
}

SelectedCalls::Place SelectedCalls::PlaceOf(std::string_view op) {
  if (lowered_.recorded) return {node_, IsCopyForAutograd(lowered_, node_, op) ? std::string(op) : "", 0};
  auto known =
      std::find_if(dispatched_.begin(), dispatched_.end(), [&](const auto& entry) { return entry.first == op; });
  if (known == dispatched_.end()) known = dispatched_.insert(dispatched_.end(), {std::string(op), 0});
  return {node_, known->first, known->second++};
}

bool SelectedCalls::KeepsByName(std::string_view op) const {
  return std::find(range_.keep.begin(), range_.keep.end(), op) != range_.keep.end();
}

bool SelectedCalls::Dispatch(std::string_view op) {
  Place place = PlaceOf(op);
  if (again_) {
    const auto known = call_at_.find(place);
    current_ = known != call_at_.end() ? known->second : -1;
    return current_ < 0 || states_[static_cast<size_t>(current_)] == CallState::kAgain;
  }
  calls_.Dispatch(op);
  current_ = calls_.current();
  if (current_ < 0) return true;
  call_at_.emplace(std::move(place), current_);
  kept_by_name_.resize(static_cast<size_t>(current_) + 1, false);
  if (KeepsByName(op)) kept_by_name_.back() = true;
  return true;
}

bool SelectedCalls::Names(const WantedCalls& calls, int32_t call, int output) const {
  const RegionCall& c = calls_.region().calls[static_cast<size_t>(call)];
  for (const CallId& name : {c.call, CallId{"", c.call.op, c.nth_in_region}}) {
    const auto wanted = calls.find(name);
    if (wanted == calls.end()) continue;
    const std::vector<int8_t>& outputs = wanted->second->outputs;
    if (outputs.empty() || std::find(outputs.begin(), outputs.end(), output) != outputs.end()) return true;
  }
  return false;
}

void SelectedCalls::AddOutput(int output, const TensorRef& t) {
  if (again_ || current_ < 0) return;
  calls_.AddOutput(output, t);
  const bool moves = Names(wanted_on_host_, current_, output);
  if (!moves && !kept_by_name_[static_cast<size_t>(current_)] && !Names(wanted_, current_, output)) return;
  if (moves && MayMove(m_, t)) {
    moved_.emplace(std::pair(current_, output), MovedTensor(m_, host_, t));
    m_.recorder().MarkSaved(t->storage->buffer, "offload");
    return;
  }
  kept_[{current_, output}] = m_.Alias(t, t->dims, t->strides, t->is_view);
  m_.recorder().MarkSaved(t->storage->buffer, "selective checkpointing");
}

absl::Status SelectedCalls::Finish() {
  const RegionCalls& region = calls_.region();
  m_.recorder().AddModeCalls(static_cast<int32_t>(region.calls.size()), /*again=*/false);
  kept_by_name_.resize(region.calls.size(), false);
  states_.assign(region.calls.size(), CallState::kAgain);
  if (!range_.by_call()) {
    for (size_t i = 0; i < states_.size(); ++i) {
      if (kept_by_name_[i]) states_[i] = CallState::kKept;
    }
    return absl::OkStatus();
  }
  std::vector<KeptCall> all = range_.keep_calls;
  all.insert(all.end(), range_.host_calls.begin(), range_.host_calls.end());
  KeptInRegion kept = KeptIn(region, all);
  if (!kept.error.empty()) return BadPlan(kept.error);
  const std::string why =
      WhyNotMoved(region, KeptIn(region, range_.keep_calls).outputs, KeptIn(region, range_.host_calls).outputs);
  if (!why.empty()) return BadPlan(why);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (kept_by_name_[i]) kept.outputs[i].assign(region.calls[i].outputs.size(), true);
  }
  if (range_.skip.empty()) {
    states_ = StatesOf(region, kept.outputs);
  } else {
    StatesInRegion states = StatesBySkip(region, kept.outputs, range_.skip);
    if (!states.error.empty()) return BadPlan(states.error);
    states_ = std::move(states.states);
  }
  const std::string wrong = WrongReadIn(region, kept.outputs, states_);
  return wrong.empty() ? absl::OkStatus() : BadPlan(wrong);
}

void SelectedCalls::StartAgain() {
  again_ = true;
  m_.recorder().AddModeCalls(static_cast<int32_t>(calls_.region().calls.size()), /*again=*/true);
}

TensorRef SelectedCalls::TakeKept(int output) {
  if (const auto moved = moved_.find({current_, output}); moved != moved_.end()) {
    TensorRef t = moved->second.OnDevice();
    moved_.erase(moved);
    return t;
  }
  const auto entry = kept_.find({current_, output});
  if (entry == kept_.end()) return nullptr;
  TensorRef t = std::move(entry->second);
  kept_.erase(entry);
  return t;
}

}  // namespace onnx_mem::eager
