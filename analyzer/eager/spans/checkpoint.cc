// Checkpointed segments: numbered slots instead of saved tensors, one re-run of the segment's forward at the first
// slot that backward reads, stopped as soon as the last slot is filled. Source: torch/utils/checkpoint.py
// (non-reentrant). Of a segment by call some of what it keeps, and what it starts from, may wait on the host
// (host_copies.h): what it starts from is copied before the segment runs, what a call made behind that call.
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/eager/engine/second_run.h"
#include "analyzer/eager/spans/host_copies.h"
#include "analyzer/eager/spans/selected_calls.h"
#include "analyzer/eager/spans/spans.h"

namespace onnx_mem::eager {
namespace {

// Thrown inside the re-run when the last wanted tensor is there, as PyTorch itself stops it
// (_StopRecomputationError).
struct StopRecomputation {};

// Nodes hold the segment, which is _CheckpointFrame: with the last of its slots its inputs go.
class Checkpoint : public SpanHook, public Packed, public std::enable_shared_from_this<Checkpoint> {
 public:
  Checkpoint(Executor& executor, NodeRange range, std::shared_ptr<OffloadOrder> order)
      : executor_(executor), m_(executor.machine()), range_(std::move(range)), autocast_(m_.autocast()) {
    if (range_.moves_some())
      host_ = std::make_shared<HostCall>(m_, range_.offload, ReturnOrder::kFirstFirst, std::move(order));
    if (!range_.keep.empty() || range_.by_call()) selected_.emplace(m_, executor.lowered(), range_, host_);
  }

  void Before(const NameFrame& frame) override {
    TensorIds ids = executor_.ReadWithin(range_);
    ids.insert(ids.end(), range_.arguments.begin(), range_.arguments.end());
    for (TensorId id : ids) {
      TensorRef t = frame.read(id);
      if (t == nullptr) continue;
      if (range_.host_inputs && t->requires_grad && MayMove(m_, t)) {
        moved_inputs_.push_back({id, MovedTensor(m_, host_, t), t->grad_edge});
      } else {
        inputs_.emplace(id, std::move(t));
      }
    }
    if (host_) host_->BeginCopies();
  }

  void AfterNode() override {
    if (host_) host_->BeginCopies();
  }
  void After(const NameFrame&) override {
    if (selected_) status_ = selected_->Finish();
    if (host_) host_->EndForward(!host_->empty());
  }
  absl::Status status() const override { return status_; }

  std::optional<SavedTensor> OnSave(int32_t node, const TensorRef& t) override {
    if (running_again_) return SaveAgain(node, t);
    if (selected_) selected_->Save(t);
    return SavedTensor{.tensor = nullptr, .packed = shared_from_this(), .slot = slots_++};
  }

  bool watches() const override { return selected_ && !running_again_; }
  void BeforeNode(int32_t index) override {
    if (selected_) selected_->BeginNode(index);
  }
  void AfterOperator(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs) override {
    selected_->EndNode(inputs, outputs);
  }
  bool OnDispatch(std::string_view op) override { return !selected_ || selected_->Dispatch(op); }
  void OnOutput(int output, const TensorRef& t) override {
    if (selected_) selected_->AddOutput(output, t);
  }
  TensorRef Kept(int output) override { return selected_->TakeKept(output); }

  TensorRef Unpack(const SavedTensor& saved) override {
    if (!std::exchange(recomputed_, true)) RunAgain();
    return tensors_[static_cast<size_t>(saved.slot)];
  }

  // unpack_hook: the handle under which the tensor lay is set to None. Before the second run: it keeps nothing for a
  // node that is gone.
  void Drop(const SavedTensor& saved) override {
    if (recomputed_) {
      tensors_[static_cast<size_t>(saved.slot)].reset();
    } else {
      dead_slots_.insert(saved.slot);
    }
  }

 private:
  void RunAgain() {
    FetchInputs();
    const SecondRun second(m_, this, autocast_);
    running_again_ = true;
    if (selected_) selected_->StartAgain();
    try {
      executor_.RunAgain(range_, inputs_);
    } catch (const StopRecomputation&) {
    }
    running_again_ = false;
  }

  void FetchInputs() {
    if (host_) host_->BeginReturn();
    for (const MovedInput& moved : moved_inputs_) {
      TensorRef t = moved.tensor.OnDevice();
      t->requires_grad = true;
      t->grad_edge = moved.edge;
      inputs_.emplace(moved.id, std::move(t));
    }
  }

  // The graph of the second run is made and thrown away: its nodes hold nothing.
  SavedTensor SaveAgain(int32_t node, const TensorRef& t) {
    const bool wanted = !dead_slots_.contains(static_cast<int32_t>(tensors_.size()));
    tensors_.push_back(wanted ? m_.Alias(t, t->dims, t->strides, t->is_view) : nullptr);
    if (wanted) m_.MarkSaved(node, t);
    if (static_cast<int32_t>(tensors_.size()) == slots_) throw StopRecomputation{};
    return {};
  }

  Executor& executor_;
  Machine& m_;
  const NodeRange range_;
  const std::optional<DType> autocast_;      // of the call
  int32_t slots_ = 0;                        // tensors that the forward would have saved
  absl::flat_hash_set<int32_t> dead_slots_;  // whose node was gone before the second run
  bool recomputed_ = false;
  bool running_again_ = false;
  std::vector<TensorRef> tensors_;         // by slot, once recomputed
  std::optional<SelectedCalls> selected_;  // where the segment keeps something
  absl::Status status_;
  Values inputs_;
  struct MovedInput {
    TensorId id;
    MovedTensor tensor;
    Edge edge;
  };
  std::vector<MovedInput> moved_inputs_;
  std::shared_ptr<HostCall> host_;  // where the segment moves something
};

}  // namespace

std::shared_ptr<SpanHook> MakeCheckpoint(Executor& executor, const NodeRange& range,
                                         std::shared_ptr<OffloadOrder> order) {
  return std::make_shared<Checkpoint>(executor, range, std::move(order));
}

}  // namespace onnx_mem::eager
