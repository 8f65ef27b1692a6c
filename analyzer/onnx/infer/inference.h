// The pass that infers a graph's values node by node, and runs again for every body inside it.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_INFERENCE_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_INFERENCE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/infer/operator_table.h"
#include "analyzer/onnx/infer/scope.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/rules/rule.h"
#include "analyzer/run/limits.h"

namespace onnx_mem {

// Inputs of a node; null for an omitted one.
using NodeInputs = absl::InlinedVector<ScopeValue*, 8>;
// Types of a node's outputs, owned by the pass's arena; unset where nothing is known.
using NodeOutputs = absl::InlinedVector<onnx::TypeProto*, 4>;

class NodeHook;

// One node in its surroundings.
struct NodeSite {
  const onnx::NodeProto& node;
  const onnx::GraphProto& graph;
  const Operator& op;
  ValueScope& scope;
  NodeInputs inputs;
  NodeFact& fact;
  std::vector<InferredGraph>& bodies;

  // Whether input `i`'s contents may decide about sizes: they are exact, or bounds where a bound is sound.
  bool MayRead(size_t i) const;
  int version() const;                              // since_version of the operator's schema; 0: none
  absl::Status BadShape(std::string reason) const;  // the node does not fit its inputs
};

class InferencePass {
 public:
  // The model outlives the pass.
  InferencePass(const onnx::ModelProto& model, bool fold);

  // Infers the nodes of `graph` into `scope`, whose inputs are already bound, and reports what became known.
  // Errors: bad-shape.
  absl::Status InferGraph(const onnx::GraphProto& graph, ValueScope& scope, InferredGraph& facts);

  // Adds the values that `scope` holds of its own to `facts`.
  void ReportValues(ValueScope& scope, InferredGraph& facts);

  google::protobuf::Arena& arena() { return arena_; }

  // The sizes that the main graph's inputs give to symbolic dimensions, for value_info of unknown operators.
  absl::flat_hash_map<std::string, int64_t>& bound_dims() { return bound_dims_; }
  // Whether a Loop may still be run iteration by iteration, `nodes` inferences in all; and taking that much.
  bool MayUnroll(int64_t nodes) const { return nodes <= unrolled_left_; }
  bool Unroll(int64_t nodes) {
    unrolled_left_ -= nodes;
    return unrolled_left_ >= 0;
  }

  // Whether a body may run again and again until its carried values settle: loops within loops take six runs each.
  bool MaySettle() const { return body_visits_ < limits::kSettlingInferences; }
  // Nodes that were inferred, each as often as it was.
  int64_t visits() const { return visits_; }

  // Watches the main graph's nodes; null for none.
  void SetHook(NodeHook* hook) { hook_ = hook; }
  // Set when an input's fixed dims were replaced: fixed dims of value_info then say nothing.
  void DistrustValueInfo() { trust_value_info_ = false; }

 private:
  void BindInitializers(const onnx::GraphProto& graph, ValueScope& scope);
  absl::Status InferNode(NodeSite& site);
  bool BindConstant(NodeSite& site);
  bool Fold(NodeSite& site);
  absl::Status InferTypes(NodeSite& site, NodeOutputs& outputs);
  absl::Status InferBySchema(NodeSite& site, NodeOutputs& outputs, std::string& reason);
  void KeepElementTypes(NodeOutputs& outputs);
  rules::Results Apply(rules::Function rule, NodeSite& site);
  const onnx::TypeProto* TypeFromValueInfo(const onnx::GraphProto& graph, const std::string& name);
  void BindOutputs(NodeSite& site, const NodeOutputs& outputs);

  google::protobuf::Arena arena_;
  OperatorTable operators_;
  absl::flat_hash_map<std::string, int64_t> bound_dims_;
  // So that no file makes the pass run for long, or hold much.
  int64_t visits_ = 0, body_visits_ = 0;
  int64_t unrolled_left_ = limits::kLoopInferences;
  int64_t folded_left_ = limits::kFoldedElements;
  int64_t made_left_ = limits::kMadeElements;
  bool fold_;
  bool trust_value_info_ = true;
  NodeHook* hook_ = nullptr;
};

// Sees, and may change, what the nodes of the main graph read and give while they are inferred (rebatch/).
class NodeHook {
 public:
  virtual ~NodeHook() = default;
  // Inputs and initializers are bound, no node has been visited.
  virtual absl::Status Begin(InferencePass& pass, ValueScope& scope) = 0;
  // Inputs of the site may be pointed at other values, which must live as long as the pass.
  virtual absl::Status Before(int node, NodeSite& site) = 0;
  // The outputs are in the site's scope.
  virtual absl::Status After(int node, NodeSite& site) = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_INFERENCE_H_
