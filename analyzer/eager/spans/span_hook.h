// A span is the call of a module or function while a step runs: it begins, its operators run, it returns, and later its
// backward comes. A hook is what somebody has put around such a call. One kind of span, one file:
//
//   checkpoint.cc   torch.utils.checkpoint: keeps nothing that nodes save, runs again when the backward asks for it
//   reentrant.cc    the same with use_reentrant=True: an autograd.Function that runs a backward of its own
//   offload.cc      what nodes save leaves for host memory and comes back
//   function.cc     torch.autograd.Function of the user's code
//
// The events are PyTorch's:
//
//   Before               forward pre-hook
//   OnSave               pack_hook of torch.autograd.graph.saved_tensors_hooks, entered by the call
//   OnDispatch ...       TorchDispatchMode, entered by the call
//   After                forward hook
//   Packed::Unpack       unpack_hook
//
// Backward has no events of its own: where PyTorch's code learns of it through an autograd.Function around inputs or
// outputs, the hook makes that node (Machine::MakeNode) and its formula is the event. So does a unit of FSDP2: it
// gathers its parameters in Before (Storage::Materialize) and frees them in After (Storage::Release); a node behind its
// outputs gathers again, and one before its inputs frees and reduces.
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_SPAN_HOOK_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_SPAN_HOOK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/eager/engine/autograd.h"
#include "analyzer/eager/engine/frame.h"
#include "analyzer/eager/engine/tensor.h"

namespace onnx_mem::eager {

class SpanHook {
 public:
  virtual ~SpanHook() = default;
  // Around the call; `frame` is the one that it runs in.
  virtual void Before(const NameFrame&) {}
  virtual void After(const NameFrame&) {}
  // What is wrong with the call, once it is over: of a plan that names what is not there.
  virtual absl::Status status() const { return absl::OkStatus(); }
  // One of its operators runs; has run, and the names that end with it are still there.
  virtual void BeforeNode(int32_t /*index*/) {}
  virtual void AfterNode() {}
  // Whether AfterOperator is wanted: what the operator has read and made.
  virtual bool watches() const { return false; }
  virtual void AfterOperator(std::span<const TensorRef> /*inputs*/, std::span<const TensorRef> /*outputs*/) {}
  // Autograd node `node`, made by the call, saves `t`. nullopt: the hook leaves it to the node.
  virtual std::optional<SavedTensor> OnSave(int32_t /*node*/, const TensorRef& /*t*/) { return std::nullopt; }
  // Operator `op` is dispatched. False: it does not run.
  virtual bool OnDispatch(std::string_view /*op*/) { return true; }
  // One of its outputs: made; or of an operator that does not run, null where it is to have no bytes.
  virtual void OnOutput(int /*output*/, const TensorRef& /*t*/) {}
  virtual TensorRef Kept(int /*output*/) { return nullptr; }
};

// What a node holds in place of a tensor that a hook took. Dies with the last node that holds it.
class Packed {
 public:
  virtual ~Packed() = default;
  // The tensor, as often as it is read.
  virtual TensorRef Unpack(const SavedTensor& saved) = 0;
  // The node has computed, or is gone: it will not read `saved` again. May come twice.
  virtual void Drop(const SavedTensor& /*saved*/) {}
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_SPAN_HOOK_H_
