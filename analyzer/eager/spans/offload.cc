// Segments whose saved tensors go to host memory: torch.autograd.graph.saved_tensors_hooks, on a stream of their own,
// as python/onnx_mem/_checkpoint/applied.py sets them (_Offloaded). A storage is copied once, however many of the
// segment's nodes save it. In forward it leaves the device when the segment that the mode names has run, as the compute
// stream waits there for the copy; in backward all of a segment's storages come back when its first tensor is read,
// and those of the segment before it begin to (of held segments in a row: of all). A gate moves nothing; all that
// it saves tells when its backward begins.
#include <utility>
#include <vector>

#include "analyzer/eager/spans/spans.h"

namespace onnx_mem::eager {

class OffloadSpan;

// The calls that move something, and the gates, first called first.
struct OffloadOrder {
  struct Entry {
    Offload mode;
    std::weak_ptr<OffloadSpan> span;  // null once nothing holds what it saved
  };
  std::vector<Entry> calls;

  // The call before number `index`, and if that is held, those right before it that are held too; last first.
  std::vector<std::shared_ptr<OffloadSpan>> GroupBefore(size_t index) const;
};

// A storage that the segment's nodes saved: on the device until it has been copied, then on the host alone, from the
// segment's backward on both.
class HostCopy : public Packed {
 public:
  HostCopy(std::shared_ptr<OffloadSpan> span, Machine& m, std::shared_ptr<Storage> storage)
      : span_(std::move(span)), m_(m), original_(storage->buffer), version_(storage->version) {
    returned_ = std::make_shared<Storage>(&m.recorder(), BufferId(), storage->bytes);
    on_device_ = std::move(storage);
    m_.recorder().AddHostBytes(returned_->bytes);
  }
  ~HostCopy() override { m_.recorder().AddHostBytes(-returned_->bytes); }

  bool IsOf(const Storage& storage) const { return original_ == storage.buffer && version_ == storage.version; }
  int64_t bytes() const { return returned_->bytes; }
  bool on_device() const { return on_device_ != nullptr; }
  void LeaveDevice() { on_device_.reset(); }
  void BeginReturn();
  TensorRef Unpack(const SavedTensor& saved) override;

 private:
  std::shared_ptr<OffloadSpan> span_;
  Machine& m_;
  BufferId original_;
  int32_t version_;                     // when it was copied
  std::shared_ptr<Storage> on_device_;  // null while on the host alone
  std::shared_ptr<Storage> returned_;   // without memory until the backward
  StepId fetched_ = {};                 // the step that began to bring it back; its first reader waits for that
  bool waited_ = false;
};

class OffloadSpan : public SpanHook, public Packed, public std::enable_shared_from_this<OffloadSpan> {
 public:
  OffloadSpan(Machine& m, Offload mode, std::shared_ptr<OffloadOrder> order)
      : m_(m), mode_(mode), order_(std::move(order)) {}

  void Before(const NameFrame&) override { first_buffer_ = m_.recorder().program().buffers.next_id(); }
  void AfterNode() override;
  void After(const NameFrame&) override;
  std::optional<SavedTensor> OnSave(int32_t node, const TensorRef& t) override;

  // What a gate saved: the tensor itself.
  TensorRef Unpack(const SavedTensor& saved) override {
    BeginReturn();
    return saved.tensor;
  }

  // Its backward has come.
  void BeginReturn();

 private:
  bool Moves(const TensorRef& t) const;
  void LeaveDevice();
  void FetchBack();

  Machine& m_;
  const Offload mode_;
  const std::shared_ptr<OffloadOrder> order_;
  size_t index_ = 0;                             // in the order
  BufferId first_buffer_;                        // that the segment made, if it made one
  std::vector<std::weak_ptr<HostCopy>> copies_;  // of what its nodes saved, first saved first
  size_t begun_ = 0;                             // of them, how many copies have begun
  StepId last_copy_ = {};
  bool returned_ = false;  // they come or came back
  bool gated_ = false;     // of a gate: its backward will ask for something
};

std::vector<std::shared_ptr<OffloadSpan>> OffloadOrder::GroupBefore(size_t index) const {
  std::vector<std::shared_ptr<OffloadSpan>> group;
  const auto is_held = [&](size_t i) { return calls[i].mode == Offload::kHeld; };
  for (size_t i = index; i-- > 0 && (i + 1 == index || (is_held(i) && is_held(i + 1)));) {
    if (auto span = calls[i].span.lock()) group.push_back(std::move(span));
  }
  return group;
}

void HostCopy::BeginReturn() {
  m_.BeginStep("copy from host");
  returned_->Materialize({bytes()}, DType::kUInt8);
  m_.recorder().SetCategory(returned_->buffer, Category::kSavedActivations);
  m_.recorder().AddLinkBytes(bytes());
  on_device_ = returned_;
  fetched_ = m_.recorder().current_step();
}

TensorRef HostCopy::Unpack(const SavedTensor& saved) {
  span_->BeginReturn();
  if (fetched_.valid() && !std::exchange(waited_, true)) {
    m_.BeginStep("wait for host");
    m_.recorder().WaitFor(fetched_);
  }
  TensorRef t = m_.Alias(saved.tensor, saved.tensor->dims, saved.tensor->strides, saved.tensor->is_view);
  t->storage = on_device_;
  return t;
}

// Parameters and buffers stay, and what was there before the segment and has no gradient: the model's inputs, masks.
bool OffloadSpan::Moves(const TensorRef& t) const {
  const BufferId buffer = t->storage->buffer;
  const Category category = m_.recorder().category(buffer);
  if (category == Category::kParameters || category == Category::kBuffers) return false;
  const bool foreign = buffer < first_buffer_;
  return t->storage->bytes >= kLeastOffloadBytes && (t->requires_grad || !foreign);
}

std::optional<SavedTensor> OffloadSpan::OnSave(int32_t node, const TensorRef& t) {
  if (mode_ == Offload::kGate) {
    gated_ = true;
    SavedTensor saved = m_.Hold(node, t);
    saved.packed = shared_from_this();
    return saved;
  }
  if (!Moves(t)) return std::nullopt;
  std::shared_ptr<HostCopy> copy;
  for (const std::weak_ptr<HostCopy>& entry : copies_) {
    const std::shared_ptr<HostCopy> known = entry.lock();
    if (known != nullptr && known->IsOf(*t->storage)) copy = known;
  }
  if (copy == nullptr) {
    copy = std::make_shared<HostCopy>(shared_from_this(), m_, t->storage);
    m_.MarkSaved(node, t);
    copies_.push_back(copy);
  }
  SavedTensor saved{.tensor = m_.Alias(t, t->dims, t->strides, t->is_view), .packed = std::move(copy)};
  saved.tensor->storage.reset();
  return saved;
}

// The copies that a node's forward began count as steps behind its own.
void OffloadSpan::AfterNode() {
  for (; begun_ < copies_.size(); ++begun_) {
    const std::shared_ptr<HostCopy> copy = copies_[begun_].lock();
    if (copy == nullptr) continue;
    m_.BeginStep("copy to host");
    m_.recorder().AddLinkBytes(copy->bytes());
    last_copy_ = m_.recorder().current_step();
  }
}

void OffloadSpan::After(const NameFrame&) {
  // Nothing of it moves, or nothing will tell of its backward.
  if (mode_ == Offload::kGate ? !gated_ : copies_.empty()) return;
  index_ = order_->calls.size();
  order_->calls.push_back({mode_, weak_from_this()});
  const bool continues = mode_ == Offload::kHeld && index_ > 0 && order_->calls[index_ - 1].mode == Offload::kHeld;
  if (!continues) {
    for (const auto& before : order_->GroupBefore(index_)) before->LeaveDevice();
  }
  if (mode_ == Offload::kWaiting) LeaveDevice();
}

void OffloadSpan::LeaveDevice() {
  bool any = false;
  for (const std::weak_ptr<HostCopy>& entry : copies_) {
    const std::shared_ptr<HostCopy> copy = entry.lock();
    if (copy == nullptr || !copy->on_device()) continue;
    if (!std::exchange(any, true)) {
      m_.BeginStep("wait for host");
      m_.recorder().WaitFor(last_copy_);
    }
    copy->LeaveDevice();
  }
}

void OffloadSpan::FetchBack() {
  for (auto entry = copies_.rbegin(); entry != copies_.rend(); ++entry) {
    const std::shared_ptr<HostCopy> copy = entry->lock();
    if (copy != nullptr && !copy->on_device()) copy->BeginReturn();
  }
}

void OffloadSpan::BeginReturn() {
  if (std::exchange(returned_, true)) return;
  FetchBack();
  for (const auto& before : order_->GroupBefore(index_)) before->FetchBack();
}

std::shared_ptr<SpanHook> MakeOffload(Executor& executor, Offload mode, std::shared_ptr<OffloadOrder>& order) {
  if (order == nullptr) order = std::make_shared<OffloadOrder>();
  return std::make_shared<OffloadSpan>(executor.machine(), mode, order);
}

}  // namespace onnx_mem::eager
