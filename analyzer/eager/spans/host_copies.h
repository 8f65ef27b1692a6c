// Storages that wait in host memory for their backward, on a stream of their own, as applied.py moves them (_Stored,
// _Moves). A storage leaves the device when its copy is complete, as the compute stream waits there for the copy. In
// backward all of a call's storages come back when the first of them is needed, and those of the call before begin to
// (of held calls in a row: of all).
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_HOST_COPIES_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_HOST_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/eager/engine/machine.h"
#include "analyzer/run/run.h"

namespace onnx_mem::eager {

class HostCall;

// The calls that move something, and the gates, first called first.
struct OffloadOrder {
  struct Entry {
    Offload mode;
    std::weak_ptr<HostCall> call;  // null once nothing holds what it moved
  };
  std::vector<Entry> calls;

  // The call before number `index`, and if that is held, those right before it that are held too; last first.
  std::vector<std::shared_ptr<HostCall>> GroupBefore(size_t index) const;
};

// A storage on the device until it has been copied, then on the host alone, from its call's backward on on both.
class HostCopy {
 public:
  HostCopy(Machine& m, std::shared_ptr<Storage> storage);
  ~HostCopy() { m_.recorder().AddHostBytes(-returned_->bytes); }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

  bool IsOf(const Storage& storage) const { return original_ == storage.buffer && version_ == storage.version; }
  int64_t bytes() const { return returned_->bytes; }
  bool on_device() const { return on_device_ != nullptr; }
  void LeaveDevice() { on_device_.reset(); }
  void BeginReturn();
  // Its reader waits until it is back.
  const std::shared_ptr<Storage>& OnDevice();

 private:
  Machine& m_;
  BufferId original_;
  int32_t version_;                     // when it was copied
  std::shared_ptr<Storage> on_device_;  // null while on the host alone
  std::shared_ptr<Storage> returned_;   // without memory until the backward
  StepId fetched_ = {};                 // the step that began to bring it back; its first reader waits for that
  bool waited_ = false;
};

// What backward needs first comes back first: of modules what they saved last, of a second run its first calls.
enum class ReturnOrder { kLastFirst, kFirstFirst };

// One call of a module or segment, and what it moves. Lives as long as something that it moved is held.
class HostCall : public std::enable_shared_from_this<HostCall> {
 public:
  HostCall(Machine& m, Offload mode, ReturnOrder returns, std::shared_ptr<OffloadOrder> order)
      : m_(m), mode_(mode), returns_(returns), order_(std::move(order)) {}

  Offload mode() const { return mode_; }
  // The one copy of `storage` as it is now; made if there is none. Its copying begins in BeginCopies.
  std::shared_ptr<HostCopy> CopyOf(const std::shared_ptr<Storage>& storage);
  // Copies that an operator has led to count as steps behind its own.
  void BeginCopies();
  // Its forward is over. `tells`: something will tell of its backward.
  void EndForward(bool tells);
  // Its backward has come.
  void BeginReturn();
  bool empty() const { return copies_.empty(); }

 private:
  void LeaveDevice();
  void FetchBack();

  Machine& m_;
  const Offload mode_;
  const ReturnOrder returns_;
  const std::shared_ptr<OffloadOrder> order_;
  size_t index_ = 0;                             // in the order
  std::vector<std::weak_ptr<HostCopy>> copies_;  // first made first
  size_t begun_ = 0;                             // of them, how many copies have begun
  StepId last_copy_ = {};
  bool returned_ = false;  // they come or came back
};

// Large enough, and neither a parameter nor a buffer.
bool MayMove(Machine& m, const TensorRef& t);

// A tensor without its storage, which is moved, nor the node that made it. It keeps the call and the copy alive.
class MovedTensor {
 public:
  MovedTensor(Machine& m, std::shared_ptr<HostCall> call, const TensorRef& t);
  // The tensor on the device, as often as it is read.
  TensorRef OnDevice() const;
  const TensorRef& without_storage() const { return tensor_; }

 private:
  std::shared_ptr<HostCall> call_;
  std::shared_ptr<HostCopy> copy_;
  TensorRef tensor_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_HOST_COPIES_H_
