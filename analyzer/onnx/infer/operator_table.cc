#include "analyzer/onnx/infer/operator_table.h"

#include <cstdint>

#include "analyzer/onnx/infer/body.h"
#include "analyzer/onnx/infer/schemas.h"

namespace onnx_mem {
namespace {

bool IsDefaultDomain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

// Version 11 said of these what runtimes had long done: an axis may count from the end. Inference of the versions
// before takes a negative axis for none, or fails.
int SchemaVersion(std::string_view domain, std::string_view op, int version) {
  if (!domain.empty() || version < 4 || version >= 11) return version;
  return op == "Concat" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze" ? 11 : version;
}

Operator Describe(std::string_view domain, const std::string& op_type, int version) {
  Operator op;
  op.default_domain = domain.empty();
  op.schema = Schemas::Instance().GetSchema(op_type, SchemaVersion(domain, op_type, version), std::string(domain));
  const bool standard = op.default_domain && op.schema != nullptr;
  if (rules::IsStandardElsewhere(domain, op_type)) {
    op.schema = Schemas::Instance().GetSchema(op_type, INT32_MAX, "");
    op.bound = rules::FindBound(op_type);
  }
  op.inferred = op.schema != nullptr && op.schema->has_type_and_shape_inference_function() &&
                !rules::IsSchemaWrong(domain, op_type);
  // Of a classical model the schemas tell the types alone.
  if (!op.inferred || domain == "ai.onnx.ml") op.rule = rules::FindRule(domain, op_type);
  if (op.default_domain) op.bound = rules::FindBound(op_type);
  if (!standard) return op;
  op.fold = fold::FindRow(op_type);
  op.check_inputs = FindInputCheck(op_type);
  op.check_output = FindOutputCheck(op_type);
  if (op_type == "If") op.infer_bodies = InferIf;
  if (op_type == "Loop") op.infer_bodies = InferLoop;
  if (op_type == "Scan") op.infer_bodies = InferScan;
  return op;
}

}  // namespace

OperatorTable::OperatorTable(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    opsets_[IsDefaultDomain(opset.domain()) ? std::string() : opset.domain()] = static_cast<int>(opset.version());
  }
  // Files before IR version 3 name no opset: version 1.
  opsets_.try_emplace("", model.opset_import_size() == 0 ? 1 : INT32_MAX);
}

const Operator& OperatorTable::Of(const onnx::NodeProto& node) {
  const std::string_view domain = IsDefaultDomain(node.domain()) ? "" : std::string_view(node.domain());
  auto [found, added] = operators_.try_emplace({domain, node.op_type()});
  if (added) {
    const auto opset = opsets_.find(std::string(domain));
    found->second = Describe(domain, node.op_type(), opset != opsets_.end() ? opset->second : INT32_MAX);
  }
  return found->second;
}

}  // namespace onnx_mem
