// Runs a lowered graph on a Machine: statics, forward in file order with Python's references, checkpoint segments.
#ifndef ONNX_MEM_ANALYZER_EAGER_ENGINE_EXECUTOR_H_
#define ONNX_MEM_ANALYZER_EAGER_ENGINE_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/eager/engine/op_table.h"
#include "analyzer/graph/lowered.h"

namespace onnx_mem::eager {

// Nodes first..last (inclusive) run inside one checkpoint call.
struct NodeRange {
  int32_t first = 0;
  int32_t last = 0;
  std::vector<std::string> keep = {};  // operators whose results are kept for the second run
};

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

  // Told of every node of the forward when it has run: what it read and made (null where nothing is), and the last step
  // before it.
  using Observer = std::function<void(int32_t node, std::span<const TensorRef> inputs,
                                      std::span<const TensorRef> outputs, StepId before)>;
  void SetObserver(Observer observer) { observer_ = std::move(observer); }

  const TensorRef& value(TensorId id) const { return values_[id]; }
  // Lets go of every value but the graph's outputs: the model's forward has returned.
  void ReleaseLocals();
  const std::vector<TensorId>& parameters() const { return parameters_; }

 private:
  using Values = absl::flat_hash_map<TensorId, TensorRef>;

  void RunNode(int32_t index, const std::function<TensorRef(TensorId)>& read,
               const std::function<void(TensorId, TensorRef)>& write);
  // Says of a value that outlives its last reader who keeps it.
  void NoteHolder(TensorId id, const EagerTensor& value);
  void MakeMissingInputs(Call& call);
  void RunSegment(const NodeRange& range);
  void Rerun(const NodeRange& range, Values inputs);
  void DropAfter(int32_t index);

  Machine& m_;
  const Graph& graph_;
  const IdVector<TensorId, TensorKind>& kinds_;
  IdVector<TensorId, int32_t> release_after_;
  std::vector<std::vector<TensorId>> dropped_after_;  // by node index
  IdVector<TensorId, TensorRef> values_;
  std::vector<TensorId> parameters_;
  Observer observer_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_ENGINE_EXECUTOR_H_
