// Runs a lowered graph on a Machine: statics, forward in file order with Python's references, spans (eager/spans).
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_EXECUTOR_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/eager/engine/frame.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/engine/op_table.h"
#include "analyzer/graph/lowered.h"

namespace onnx_mem::eager {

// Nodes first..last (inclusive) run inside one checkpoint call.
struct NodeRange : NodeSpan {
  // What selective checkpointing keeps and leaves out (run.h).
  std::vector<std::string> keep = {};
  std::vector<KeptCall> keep_calls = {};
  std::vector<CallId> skip = {};
  std::vector<KeptCall> host_calls = {};
  bool host_inputs = false;
  Offload offload = Offload::kNo;
  bool moves_some() const { return !host_calls.empty() || host_inputs; }
  bool by_call() const { return !keep_calls.empty() || !skip.empty() || moves_some(); }
  TensorIds arguments = {};  // held for the second run beside what it reads
  bool reentrant = false;
};

struct OffloadOrder;  // of spans/host_copies.h

class Executor {
 public:
  // `lowered` is fully known in shape; both references must outlive the executor. Tensors called one of `held` are
  // kept by a variable until the step ends.
  Executor(Machine& machine, const Lowered& lowered, std::span<const std::string> held = {});

  // Parameters, buffers and inputs, in this order. `trainable` decides which parameters, `wants_grad` which inputs
  // require a gradient.
  void AllocateStatics(const std::function<bool(TensorId)>& trainable,
                       const std::function<bool(const Tensor&)>& wants_grad);

  // Ranges must not overlap, and be sorted. Error: Unimplemented when a node's operator has no row.
  absl::Status RunForward(std::span<const NodeRange> checkpointed);

  // Called with every node of the forward when it has run: what it read and made (null where nothing is), and the last
  // step before it.
  using Observer = std::function<void(int32_t node, std::span<const TensorRef> inputs,
                                      std::span<const TensorRef> outputs, StepId before)>;
  void SetObserver(Observer observer) { observer_ = std::move(observer); }

  // The hook of all that runs outside of spans; outlives the forward.
  void SetTracer(SpanHook* tracer) { tracer_ = tracer; }

  Machine& machine() const { return m_; }
  const Lowered& lowered() const { return lowered_; }
  const TensorRef& value(TensorId id) const { return values_[id]; }
  // Frees every value but the graph's outputs: the model's forward has returned.
  void ReleaseLocals();
  // Frees the casts of parameters that nothing of the model released: autocast kept them.
  void ReleaseCasts();
  // The floating outputs become copies in `dtype`, where they have another: made while all of them live.
  void ConvertOutputs(DType dtype);
  // The loop's variable of the outputs ends; what a variable holds by name stays.
  void ReleaseOutputs();
  // Of distinct storages of outputs that forward made.
  int64_t OutputBytes() const;
  const TensorIds& parameters() const { return parameters_; }

  // --- for the hooks of spans (eager/spans)
  // Tensors that nodes of `span` read, and that functions of the user's code in it save for their backward.
  TensorIds ReadWithin(const NodeSpan& span) const;
  // Runs the nodes of `span` in a frame that knows `values` alone; what is still known at its end.
  Values RunAgain(const NodeSpan& span, Values values);
  // Runs `node` and gives its results; null where an omitted one would stand.
  Outputs RunOperator(const FrameworkNode& node, const NameFrame& frame, std::vector<TensorRef>* observed = nullptr);

 private:
  absl::Status TooManySteps(int32_t node) const;

  void RunNode(int32_t index, const NameFrame& frame);
  NameFrame OwnFrame();
  // Says of a value that outlives its last reader who keeps it.
  void NoteHolder(TensorId id, const EagerTensor& value);
  void MakeMissingInputs(const OpRow& row, Call& call);
  absl::Status RunSpan(const NodeRange& range);
  void DropAfter(int32_t index);

  Machine& m_;
  const FrameworkGraph& graph_;
  const IdVector<TensorId, TensorKind>& kinds_;
  const Lowered& lowered_;
  absl::flat_hash_map<int32_t, const UserFunction*> function_from_, function_to_;  // by first and last node
  std::shared_ptr<SpanHook> function_;                                             // whose forward runs
  std::shared_ptr<OffloadOrder> offloads_;
  IdVector<TensorId, int32_t> release_after_;
  std::vector<TensorIds> dropped_after_;  // by node index
  IdVector<TensorId, TensorRef> values_;
  std::span<const std::string> held_;
  TensorIds parameters_;
  Observer observer_;
  SpanHook* tracer_ = nullptr;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_EXECUTOR_H_
