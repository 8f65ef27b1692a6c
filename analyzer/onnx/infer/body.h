// Bodies of If, Loop and Scan: one run of a body, and what the values of several runs have in common.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_BODY_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_BODY_H_

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/onnx/infer/inference.h"

namespace onnx_mem {

// Graphs that an attribute holds: each is a body of its node.
size_t NumBodies(const onnx::AttributeProto& attribute);

struct Body {
  const onnx::GraphProto* graph = nullptr;  // null: the node has no such attribute
  size_t index = 0;                         // among the node's bodies
};
Body FindBody(const onnx::NodeProto& node, std::string_view attribute);

// Nodes of a graph and of all bodies inside it.
int64_t CountNodes(const onnx::GraphProto& graph);

// Infers `body` with `inputs` bound to its inputs in order; its outputs in order, and its values in `facts`.
absl::StatusOr<std::vector<ScopeValue>> RunBody(InferencePass& pass, ValueScope& outer, const onnx::GraphProto& body,
                                                std::vector<ScopeValue> inputs, InferredGraph& facts);

// What is true of `a` and of `b`: dims and contents that differ are unknown. `weaker` is set, never cleared, where that
// says less than `a`.
ScopeValue Agree(ScopeValue& a, ScopeValue& b, InferencePass& pass, bool& weaker);

// What is large enough for `a` and for `b`: where sizes differ the larger, as an upper bound.
ScopeValue Cover(ScopeValue& a, ScopeValue& b, InferencePass& pass);
ValueFact Cover(const ValueFact& a, const ValueFact& b);
// The same for all values of a body that ran twice; `into` becomes the cover of both.
void CoverInto(const InferredGraph& facts, InferredGraph& into);

// The one element of an integer or boolean that is known exactly.
std::optional<int64_t> KnownScalar(ScopeValue* value);

// Binds the node's outputs.
absl::Status InferIf(InferencePass& pass, NodeSite& site);
absl::Status InferLoop(InferencePass& pass, NodeSite& site);
absl::Status InferScan(InferencePass& pass, NodeSite& site);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_BODY_H_
