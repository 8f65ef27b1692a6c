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
//   BeforeDispatch ...   TorchDispatchMode, entered by the call
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
#include <string_view>

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
  // One of its operators has run, and the names that end with it are still there.
  virtual void AfterNode() {}
  // Autograd node `node`, made by the call, saves `t`. nullopt: the hook leaves it to the node.
  virtual std::optional<SavedTensor> OnSave(int32_t /*node*/, const TensorRef& /*t*/) { return std::nullopt; }
  // Operator `op` is about to make a tensor: the hook may have it already. Null: it has not.
  virtual TensorRef BeforeDispatch(std::string_view /*op*/) { return nullptr; }
  virtual void AfterDispatch(std::string_view /*op*/, const TensorRef& /*t*/) {}
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
