// Checkpointed segments: numbered slots instead of saved tensors, one re-run of the segment's forward at the first
// slot that is asked for, stopped as soon as the last slot is filled. Source: torch/utils/checkpoint.py
// (non-reentrant).
#include <algorithm>
#include <utility>

#include "analyzer/eager/engine/machine.h"

namespace onnx_mem::eager {

int32_t Machine::BeginSegment() {
  segments_.emplace_back();
  active_segment_ = static_cast<int32_t>(segments_.size()) - 1;
  return active_segment_;
}

bool Machine::EndSegment() {
  Segment& seg = segment(std::exchange(active_segment_, -1));
  if (seg.unreleased == 0) seg.kept.clear();
  return seg.unreleased > 0;
}

void Machine::BeginSecondRun() {
  before_second_run_.push_back({origin_, grad_enabled_, recorder_.phase()});
  grad_enabled_ = true;
  recorder_.SetRecompute(true);
}

void Machine::EndSecondRun() {
  const Interrupted before = before_second_run_.back();
  before_second_run_.pop_back();
  recorder_.SetRecompute(false);
  recorder_.SetPhase(before.phase);
  grad_enabled_ = before.grad_enabled;
  SetOrigin(before.origin);
}

TensorRef Machine::Detached(const TensorRef& t, bool requires_grad) {
  TensorRef leaf = Alias(t, t->dims, t->strides, t->is_view);
  leaf->requires_grad = requires_grad;
  leaf->is_leaf_parameter = requires_grad;
  if (requires_grad) leaf_gradients_.emplace(leaf.get(), nullptr);
  return leaf;
}

TensorRef Machine::TakeGradient(const TensorRef& leaf) {
  const auto found = leaf_gradients_.find(leaf.get());
  TensorRef gradient = std::move(found->second);
  leaf_gradients_.erase(found);
  if (leaf->grad_edge.node >= 0) node(leaf->grad_edge.node).parameter = nullptr;
  return gradient;
}

void Machine::ForgetNodes(size_t first) {
  for (size_t i = first; i < nodes_.size(); ++i) {
    if (nodes_[i].parameter != nullptr) continue;  // a parameter's: it serves every graph
    nodes_[i].formula = nullptr;
    nodes_[i].saved.clear();
    nodes_[i].edges.clear();
  }
}

// What the first run kept of `op`, while the segment runs again; null otherwise.
TensorRef Machine::TakeKept(std::string_view op) {
  if (recomputing_ < 0) return nullptr;
  auto& kept = segment(recomputing_).kept;
  const auto results = kept.find(op);
  if (results == kept.end() || results->second.empty()) return nullptr;
  TensorRef t = std::move(results->second.front());
  results->second.pop_front();
  return t;
}

void Machine::Keep(std::string_view op, const TensorRef& t) {
  if (active_segment_ < 0 || recomputing_ >= 0) return;
  Segment& seg = segment(active_segment_);
  if (std::find(seg.keep.begin(), seg.keep.end(), op) == seg.keep.end()) return;
  seg.kept[std::string(op)].push_back(Alias(t, t->dims, t->strides, t->is_view));
  recorder_.MarkSaved(t->storage->buffer, "selective checkpointing");
}

TensorRef Machine::Unpack(const SavedTensor& saved) {
  if (saved.offloaded != nullptr) return UnpackOffloaded(saved);
  if (saved.gate >= 0) BeginReturn(saved.gate);
  if (saved.segment < 0) return saved.tensor;
  if (!segment(saved.segment).recomputed) Recompute(saved.segment);
  return segment(saved.segment).tensors[static_cast<size_t>(saved.slot)];
}

void Machine::Recompute(int32_t index) {
  segment(index).recomputed = true;
  recomputing_ = index;
  BeginSecondRun();
  try {
    segment(index).rerun();
  } catch (const StopRecomputation&) {
  }
  recomputing_ = -1;
  EndSecondRun();
}

// torch/utils/checkpoint.py, unpack_hook: the handle under which the tensor lay is set to None.
void Machine::DropRecomputed(const std::vector<SavedTensor>& saved) {
  for (const SavedTensor& entry : saved) {
    if (entry.segment < 0 || !segment(entry.segment).recomputed) continue;
    segment(entry.segment).tensors[static_cast<size_t>(entry.slot)].reset();
  }
}

void Machine::Release(std::vector<SavedTensor>& saved) {
  for (const SavedTensor& entry : saved) {
    if (entry.segment < 0) continue;
    Segment& seg = segment(entry.segment);
    if (seg.recomputed) {
      seg.tensors[static_cast<size_t>(entry.slot)].reset();
    } else {
      seg.dead_slots.insert(entry.slot);
    }
    if (--seg.unreleased > 0 || entry.segment == active_segment_) continue;
    seg.rerun = nullptr;  // the frame goes, and with it the segment's inputs
    seg.kept.clear();
  }
  saved.clear();
}

}  // namespace onnx_mem::eager
