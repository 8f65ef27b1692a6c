// Selective checkpointing: which calls of a segment keep outputs from the first run to the second, which run again, and
// which the second leaves out: those make tensors without bytes and take no time. By operator name as
// create_selective_checkpoint_contexts does it, where all that is not kept runs again; by call as onnx_mem.checkpoint
// does (run/second_run.h). The state of the random generator that a drawing call starts from lies on the host.
#ifndef ONNX_MEM_ANALYZER_EAGER_SPANS_SELECTED_CALLS_H_
#define ONNX_MEM_ANALYZER_EAGER_SPANS_SELECTED_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "analyzer/eager/engine/executor.h"
#include "analyzer/eager/spans/call_recorder.h"
#include "analyzer/eager/spans/host_copies.h"
#include "analyzer/run/second_run.h"

namespace onnx_mem::eager {

class SelectedCalls {
 public:
  // `host`: of a segment that moves something, null for all others.
  SelectedCalls(Machine& machine, const Lowered& lowered, const NodeRange& range, std::shared_ptr<HostCall> host);

  // Both runs.
  void BeginNode(int32_t node);
  // False: the operator does not run.
  bool Dispatch(std::string_view op);

  // The first run.
  void AddOutput(int output, const TensorRef& t);
  void EndNode(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs) {
    calls_.EndNode(inputs, outputs);
  }
  void Save(const TensorRef& t) { calls_.Save(t); }
  // It is over. Error: the plan's calls are not those of the segment, or do not suffice for its backward (bad-plan).
  absl::Status Finish();

  // The second run.
  void StartAgain();
  TensorRef TakeKept(int output);

 private:
  // The `occurrence`th dispatch of `op` by a node; of a node of a record all are one call.
  using Place = std::tuple<int32_t, std::string, int32_t>;
  Place PlaceOf(std::string_view op);
  bool KeepsByName(std::string_view op) const;
  // Among `wanted`, by either of its names.
  using WantedCalls = absl::flat_hash_map<CallId, const KeptCall*>;
  bool Names(const WantedCalls& wanted, int32_t call, int output) const;

  Machine& m_;
  const Lowered& lowered_;
  const NodeRange& range_;
  CallRecorder calls_;
  WantedCalls wanted_, wanted_on_host_;
  std::vector<bool> kept_by_name_;  // by call
  bool again_ = false;
  int32_t node_ = -1;
  std::vector<std::pair<std::string, int32_t>> dispatched_;  // by the node, and how often
  std::map<Place, int32_t> call_at_;
  int32_t current_ = -1;
  std::vector<CallState> states_;
  std::map<std::pair<int32_t, int>, TensorRef> kept_;  // by call and output
  std::map<std::pair<int32_t, int>, MovedTensor> moved_;
  std::shared_ptr<HostCall> host_;
};

}  // namespace onnx_mem::eager

#endif  // ONNX_MEM_ANALYZER_EAGER_SPANS_SELECTED_CALLS_H_
