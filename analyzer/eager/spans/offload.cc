// Segments whose saved tensors go to host memory: torch.autograd.graph.saved_tensors_hooks, as
// python/onnx_mem/_checkpoint/applied.py sets them (_Offloaded). A storage is copied once, however many of the
// segment's nodes save it. A gate moves nothing; all that it saves tells when its backward begins.
#include <memory>
#include <optional>
#include <utility>

#include "analyzer/eager/spans/host_copies.h"
#include "analyzer/eager/spans/spans.h"

namespace onnx_mem::eager {
namespace {

class OffloadedTensor : public Packed {
 public:
  explicit OffloadedTensor(MovedTensor moved) : moved_(std::move(moved)) {}
  const TensorRef& without_storage() const { return moved_.without_storage(); }
  TensorRef Unpack(const SavedTensor&) override { return moved_.OnDevice(); }

 private:
  MovedTensor moved_;
};

class OffloadSpan : public SpanHook, public Packed, public std::enable_shared_from_this<OffloadSpan> {
 public:
  OffloadSpan(Machine& m, Offload mode, std::shared_ptr<OffloadOrder> order)
      : m_(m), call_(std::make_shared<HostCall>(m, mode, ReturnOrder::kLastFirst, std::move(order))) {}

  void Before(const NameFrame&) override { first_buffer_ = m_.recorder().program().buffers.next_id(); }
  void AfterNode() override { call_->BeginCopies(); }
  // Where nothing of it moves, nothing tells of its backward either.
  void After(const NameFrame&) override { call_->EndForward(IsGate() ? gated_ : !call_->empty()); }
  std::optional<SavedTensor> OnSave(int32_t node, const TensorRef& t) override;

  // What a gate saved: the tensor itself.
  TensorRef Unpack(const SavedTensor& saved) override {
    call_->BeginReturn();
    return saved.tensor;
  }

 private:
  bool IsGate() const { return call_->mode() == Offload::kGate; }
  // What was there before the segment and has no gradient stays: the model's inputs, masks.
  bool Moves(const TensorRef& t) const {
    return MayMove(m_, t) && (t->requires_grad || t->storage->buffer >= first_buffer_);
  }

  Machine& m_;
  const std::shared_ptr<HostCall> call_;
  BufferId first_buffer_;  // that the segment made, if it made one
  bool gated_ = false;     // of a gate: its backward will ask for something
};

std::optional<SavedTensor> OffloadSpan::OnSave(int32_t node, const TensorRef& t) {
  if (IsGate()) {
    gated_ = true;
    SavedTensor saved = m_.Hold(node, t);
    saved.packed = shared_from_this();
    return saved;
  }
  if (!Moves(t)) return std::nullopt;
  m_.MarkSaved(node, t);
  auto packed = std::make_shared<OffloadedTensor>(MovedTensor(m_, call_, t));
  return SavedTensor{.tensor = packed->without_storage(), .packed = packed};
}

}  // namespace

std::shared_ptr<SpanHook> MakeOffload(Executor& executor, Offload mode, std::shared_ptr<OffloadOrder> order) {
  return std::make_shared<OffloadSpan>(executor.machine(), mode, std::move(order));
}

}  // namespace onnx_mem::eager
