// What is looked up once per operator of a model: the schema that its opset selects, and our own rows beside it.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_OPERATOR_TABLE_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_OPERATOR_TABLE_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "analyzer/onnx/fold/fold.h"
#include "analyzer/onnx/infer/misfit.h"
#include "analyzer/onnx/rules/rule.h"
#include "onnx/defs/schema.h"

namespace onnx_mem {

class InferencePass;
struct NodeSite;

struct Operator {
  const onnx::OpSchema* schema = nullptr;
  bool inferred = false;  // the schema has an inference function
  bool default_domain = false;
  const fold::FoldRow* fold = nullptr;
  rules::Function rule = nullptr;   // instead of a schema's inference
  rules::Function bound = nullptr;  // where the schema's inference leaves dims unknown
  InputCheck check_inputs = nullptr;
  OutputCheck check_output = nullptr;
  absl::Status (*infer_bodies)(InferencePass&, NodeSite&) = nullptr;  // control flow
};

class OperatorTable {
 public:
  // The model outlives the table.
  explicit OperatorTable(const onnx::ModelProto& model);

  // The reference stays valid.
  const Operator& Of(const onnx::NodeProto& node);

 private:
  absl::flat_hash_map<std::string, int> opsets_;
  // Sites hold references while bodies add operators.
  absl::node_hash_map<std::pair<std::string_view, std::string_view>, Operator> operators_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_OPERATOR_TABLE_H_
