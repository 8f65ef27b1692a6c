// The view of one node that ONNX's own shape inference functions ask for: types of the inputs, contents where they are
// known, attributes with the schema's defaults, and inference of bodies.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_SCHEMA_CONTEXT_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_SCHEMA_CONTEXT_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/onnx/infer/inference.h"
#include "onnx/defs/shape_inference.h"

namespace onnx_mem {

// Runs a body when a schema's function asks for it (Scan, SequenceMap) and keeps what it found.
class BodyInferencer : public onnx::GraphInferencer {
 public:
  BodyInferencer(InferencePass& pass, const onnx::GraphProto& body, ValueScope& outer, InferredGraph& facts,
                 absl::Status& status)
      : pass_(pass), body_(body), outer_(outer), facts_(facts), status_(status) {}

  std::vector<const onnx::TypeProto*> doInferencing(const std::vector<const onnx::TypeProto*>& input_types,
                                                    const std::vector<const onnx::TensorProto*>& input_data) override;

 private:
  InferencePass& pass_;
  const onnx::GraphProto& body_;
  ValueScope& outer_;
  InferredGraph& facts_;
  absl::Status& status_;
};

class SchemaContext : public onnx::InferenceContext {
 public:
  SchemaContext(InferencePass& pass, NodeSite& site, NodeOutputs& outputs)
      : pass_(pass), site_(site), outputs_(outputs) {}

  const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  size_t getNumInputs() const override { return site_.inputs.size(); }
  const onnx::TypeProto* getInputType(size_t index) const override;
  bool hasInput(size_t index) const override { return index < site_.inputs.size() && site_.inputs[index] != nullptr; }
  const onnx::TensorProto* getInputData(size_t index) const override;
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override;
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override;
  bool hasOutput(size_t index) override;
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  std::string getDisplayName() const override { return site_.node.op_type(); }

  // Why a body could not be inferred; OK where none failed.
  const absl::Status& body_status() const { return body_status_; }

 private:
  InferencePass& pass_;
  NodeSite& site_;
  NodeOutputs& outputs_;
  absl::Status body_status_;
  std::deque<BodyInferencer> bodies_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_SCHEMA_CONTEXT_H_
