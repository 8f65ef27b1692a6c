// Puts scaled values in the place of those that a file fixes, while shapes are inferred: what the probe and the replay
// of re-batching (rebatch.h) do alike.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_SCALING_HOOK_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_SCALING_HOOK_H_

#include <deque>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "analyzer/onnx/infer/inference.h"
#include "analyzer/onnx/rebatch/rule.h"
#include "analyzer/onnx/rebatch/trace.h"

namespace onnx_mem {

using TraceMap = absl::flat_hash_map<std::string, Traces>;

// Why a file cannot be written for other sizes; the "why:" of static-batch.
absl::Status Refusal(const std::string& why);

// "Reshape '/block/Reshape_3'"
std::string DescribeNode(const onnx::GraphProto& graph, int node);

// What was inferred for `name` at the exported sizes; null where nothing was.
const ValueFact* BaseOf(const InferredGraph& base, const std::string& name);

class ScalingHook : public NodeHook {
 public:
  // `base`: what was inferred at the exported sizes. All outlive the hook.
  ScalingHook(const onnx::GraphProto& graph, const InferredGraph& base, const Variables& variables, Sizes sizes)
      : graph_(graph), base_(base), variables_(variables), sizes_(sizes) {}

 protected:
  const ValueFact* Base(const std::string& name) const { return BaseOf(base_, name); }

  // Each returns a Refusal where the exported sizes cannot be scaled.
  absl::Status ScaleInScope(const std::string& name, const Traces& traces, ValueScope& scope);
  absl::Status ScaleContents(int node, const ContentsEdit& edit, NodeSite& site);
  absl::Status ScaleOperand(int node, int input, const Traces& traces, NodeSite& site);

  // Of the pass that runs; its messages live as long as the pass.
  void UseArena(google::protobuf::Arena& arena) { arena_ = &arena; }

  const onnx::GraphProto& graph_;
  const InferredGraph& base_;
  const Variables& variables_;

 private:
  std::optional<Dims> ScaledDims(const std::string& name, const Traces& traces) const;

  const Sizes sizes_;
  google::protobuf::Arena* arena_ = nullptr;
  std::deque<ScopeValue> values_;  // what sites point at
  std::deque<std::string> names_;  // scopes keep views of names
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_SCALING_HOOK_H_
