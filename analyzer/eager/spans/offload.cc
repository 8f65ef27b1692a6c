// Segments whose saved tensors go to host memory: torch.autograd.graph.saved_tensors_hooks, on a stream of their own,
// as python/onnx_mem/_checkpoint/applied.py sets them (_Offloaded). A storage is copied once, however many of the
// segment's nodes save it. In forward it leaves the device when the segment that the mode names has run, as the compute
// stream waits there for the copy; in backward all of a segment's storages come back when its first tensor is asked
// for, and those of the segment before it begin to (of held segments in a row: of all). A gate moves nothing; all that
// it saves tells when its backward begins.
#include <algorithm>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

OffloadedStorage::OffloadedStorage(Machine& m, int32_t of_call, int64_t size) : machine(m), call(of_call), bytes(size) {
  machine.host_bytes_ += bytes;
  machine.host_peak_bytes_ = std::max(machine.host_peak_bytes_, machine.host_bytes_);
}

OffloadedStorage::~OffloadedStorage() { machine.host_bytes_ -= bytes; }

void Machine::BeginOffload(Offload mode) {
  active_offload_ = static_cast<int32_t>(offloaded_.size());
  offloaded_.push_back({.mode = mode, .first_buffer = recorder_.program().buffers.next_id()});
}

void Machine::EndOffload() {
  const int32_t call = active_offload_;
  active_offload_ = -1;
  const OffloadedCall& ended = offloaded_.back();
  const bool is_gate = ended.mode == Offload::kGate;
  // Nothing of it moves, or nothing will tell of its backward.
  if (is_gate ? !ended.saved : ended.storages.empty()) return offloaded_.pop_back();
  const bool goes_on =
      ended.mode == Offload::kHeld && call > 0 && offloaded_[static_cast<size_t>(call - 1)].mode == Offload::kHeld;
  if (!goes_on) {
    for (int32_t before : GroupBefore(call)) LeaveDevice(before);
  }
  if (ended.mode == Offload::kWaiting) LeaveDevice(call);
}

// The call before `index`, and if that is held, those right before it that are held too; last first.
std::vector<int32_t> Machine::GroupBefore(int32_t index) const {
  std::vector<int32_t> group;
  const auto is_held = [&](int32_t i) { return offloaded_[static_cast<size_t>(i)].mode == Offload::kHeld; };
  for (int32_t i = index - 1; i >= 0 && (group.empty() || (is_held(i) && is_held(i + 1))); --i) group.push_back(i);
  return group;
}

// The gate that the node which saves something now is in; -1.
int32_t Machine::PassGate() {
  if (active_offload_ < 0 || offloaded_.back().mode != Offload::kGate) return -1;
  offloaded_.back().saved = true;
  return active_offload_;
}

// Parameters and buffers stay, and what was there before the segment and has no gradient: the model's inputs, masks.
bool Machine::Offloads(const TensorRef& t) const {
  if (offloaded_[static_cast<size_t>(active_offload_)].mode == Offload::kGate) return false;
  const BufferId buffer = t->storage->buffer;
  const Category category = recorder_.category(buffer);
  if (category == Category::kParameters || category == Category::kBuffers) return false;
  const bool foreign = buffer < offloaded_[static_cast<size_t>(active_offload_)].first_buffer;
  return t->storage->bytes >= kLeastOffloadBytes && (t->requires_grad || !foreign);
}

SavedTensor Machine::SaveOnHost(const TensorRef& t, std::string_view by) {
  OffloadedCall& call = offloaded_[static_cast<size_t>(active_offload_)];
  SavedTensor saved;
  for (const std::weak_ptr<OffloadedStorage>& entry : call.storages) {
    const std::shared_ptr<OffloadedStorage> known = entry.lock();
    if (known == nullptr || known->original != t->storage->buffer || known->version != t->storage->version) continue;
    saved.offloaded = known;
  }
  if (saved.offloaded == nullptr) {
    saved.offloaded = std::make_shared<OffloadedStorage>(*this, active_offload_, t->storage->bytes);
    saved.offloaded->original = t->storage->buffer;
    saved.offloaded->version = t->storage->version;
    saved.offloaded->device = Alias(t, t->dims, t->strides, t->is_view);
    recorder_.MarkSaved(t->storage->buffer, by);
    call.storages.push_back(saved.offloaded);
  }
  saved.tensor = Alias(t, t->dims, t->strides, t->is_view);
  saved.tensor->storage.reset();
  return saved;
}

// The copies that a node's forward began count as steps behind its own.
void Machine::CopyToHost() {
  OffloadedCall& call = offloaded_[static_cast<size_t>(active_offload_)];
  for (; call.copied < call.storages.size(); ++call.copied) {
    const std::shared_ptr<OffloadedStorage> storage = call.storages[call.copied].lock();
    if (storage == nullptr) continue;
    BeginStep("copy to host");
    recorder_.AddLinkBytes(storage->bytes);
    call.last_copy = recorder_.current_step();
  }
}

void Machine::LeaveDevice(int32_t index) {
  OffloadedCall& call = offloaded_[static_cast<size_t>(index)];
  bool any = false;
  for (const std::weak_ptr<OffloadedStorage>& entry : call.storages) {
    const std::shared_ptr<OffloadedStorage> storage = entry.lock();
    if (storage == nullptr || storage->device == nullptr) continue;
    if (!std::exchange(any, true)) {
      BeginStep("wait for host");
      recorder_.WaitFor(call.last_copy);
    }
    storage->device.reset();
  }
}

void Machine::FetchBack(int32_t index) {
  const OffloadedCall& call = offloaded_[static_cast<size_t>(index)];
  for (auto entry = call.storages.rbegin(); entry != call.storages.rend(); ++entry) {
    const std::shared_ptr<OffloadedStorage> storage = entry->lock();
    if (storage == nullptr || storage->device != nullptr) continue;
    BeginStep("copy from host");
    storage->device = Allocate(Dims{storage->bytes}, DType::kUInt8);
    recorder_.SetCategory(storage->device->storage->buffer, Category::kSavedActivations);
    recorder_.AddLinkBytes(storage->bytes);
    storage->fetched = recorder_.current_step();
  }
}

void Machine::BeginReturn(int32_t call) {
  if (std::exchange(offloaded_[static_cast<size_t>(call)].returned, true)) return;
  FetchBack(call);
  for (int32_t before : GroupBefore(call)) FetchBack(before);
}

TensorRef Machine::UnpackOffloaded(const SavedTensor& saved) {
  OffloadedStorage& storage = *saved.offloaded;
  BeginReturn(storage.call);
  if (storage.fetched.valid() && !std::exchange(storage.waited, true)) {
    BeginStep("wait for host");
    recorder_.WaitFor(storage.fetched);
  }
  TensorRef t = Alias(saved.tensor, saved.tensor->dims, saved.tensor->strides, saved.tensor->is_view);
  t->storage = storage.device->storage;
  return t;
}

}  // namespace onnx_mem::eager
