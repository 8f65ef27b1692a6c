// Writes down the operator calls of a region (run/region_calls.h) while a hook sees them. A node of a record is one
// call, before which autograd may copy what it writes over, in a call of its own; without a record each step that a
// node dispatches is one, reads all that the node reads, and if it allocates nothing writes over what the node gives.
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_CALL_RECORDER_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_CALL_RECORDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "analyzer/eager/engine/machine.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/run/region_calls.h"

namespace onnx_mem::eager {

// `op` is the copy that autograd saves of what a record's node is about to write over.
bool IsCopyForAutograd(const Lowered& lowered, int32_t node, std::string_view op);

class CallRecorder {
 public:
  CallRecorder(Machine& machine, const Lowered& lowered) : m_(machine), lowered_(lowered) {}

  void BeginNode(int32_t node);
  void Dispatch(std::string_view op);
  void AddOutput(int output, const TensorRef& t);
  void EndNode(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs);
  void Save(const TensorRef& t);
  // The caller holds `t`.
  void MarkLeaving(const TensorRef& t) { region_.storages[Index(t)].leaves = true; }

  // The call that runs; -1: none that is counted.
  int32_t current() const { return current_; }
  const RegionCalls& region() const { return region_; }

 private:
  void Begin();
  void DispatchOfRecord(std::string_view op);
  // Gives the call that runs its name, if it has none.
  void Name(std::string name);
  void EndCall();
  size_t Index(const TensorRef& t);
  StorageVersion VersionOf(const TensorRef& t);
  RegionCall& call(int32_t index) { return region_.calls[static_cast<size_t>(index)]; }
  void AddWrites(int32_t writer, std::span<const TensorRef> outputs);

  Machine& m_;
  const Lowered& lowered_;
  RegionCalls region_;
  int32_t node_ = -1;
  int32_t first_of_node_ = 0;
  int32_t current_ = -1;
  std::string step_;  // without a record: which it dispatched
  absl::flat_hash_map<BufferId, int32_t> storages_;
  std::vector<int32_t> versions_;  // by storage
  absl::flat_hash_map<CallId, int32_t> counts_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_CALL_RECORDER_H_
