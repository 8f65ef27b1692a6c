#include "analyzer/analysis/prepare.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/names/hook_weights.h"
#include "analyzer/assume/names/releases.h"
#include "analyzer/eager/engine/op_table.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/adapters/lora.h"
#include "analyzer/lower/adapters/packed_base.h"
#include "analyzer/prepare/lower.h"
#include "analyzer/record/lower/lower_record.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace {

// Operators are enacted by the default rule where a tensor's number of dimensions is not known, or where their own rule
// cannot take what they are given; of the latter a diagnostic speaks.
void AssumeWhatDoesNotFit(Lowered& lowered) {
  FrameworkGraph& graph = lowered.graph;
  const auto shapeless = [&](TensorId id) { return id.valid() && !graph.tensors[id].shape.has_rank; };
  int64_t misfits = 0;
  std::string first;
  const auto settle = [&](FrameworkNode& node, NodeId id) {
    const eager::OpRow* row = eager::FindOp(node.op);
    if (row == nullptr || node.op == "assumed" || node.op == "opaque") return;
    const bool ranked = std::none_of(node.inputs.begin(), node.inputs.end(), shapeless) &&
                        std::none_of(node.outputs.begin(), node.outputs.end(), shapeless);
    if (ranked && eager::Fits(*row, eager::ShapeOfCall(graph, node))) return;
    if (ranked && ++misfits == 1) first = Describe(graph, id);
    node.attributes = {{"onnx_op", node.op}};
    node.op = "assumed";
  };
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) settle(graph.nodes[id], id);
  for (UserFunction& function : lowered.functions) {
    for (FrameworkNode& node : function.backward) settle(node, NodeId(function.span.last));
  }
  if (misfits == 0) return;
  Diagnostic diagnostic{.code = Code::kAssumedOp, .severity = Severity::kWarning, .count = misfits};
  diagnostic.message = misfits == 1
                           ? absl::StrCat(first, " is given what the operator does not take")
                           : absl::StrCat(misfits, " nodes are given what their operators do not take, first ", first);
  diagnostic.details.push_back("why: counted as new outputs that save their inputs, one gradient per input");
  lowered.diagnostics.push_back(std::move(diagnostic));
}

// Sizes that the file does not determine count as 1 per unknown dimension: a lower bound, and said so. Sizes beyond
// 64 bits are refused.
absl::Status SettleShapes(Lowered& lowered) {
  AssumeWhatDoesNotFit(lowered);
  int64_t unknown = 0;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    Tensor& tensor = lowered.graph.tensors[id];
    if (lowered.kinds[id] == TensorKind::kHost) continue;
    if (tensor.dtype == DType::kUnknown) tensor.dtype = DType::kFloat32;
    if (!tensor.shape.known()) {
      ++unknown;
      tensor.shape.has_rank = true;
      for (int64_t& dim : tensor.shape.dims) dim = std::max<int64_t>(dim, 1);
    }
    const std::optional<int64_t> bytes = NumBytes(tensor.shape, tensor.dtype);
    if (!bytes || *bytes > (int64_t{1} << 56)) {
      return ErrorStatus(
          absl::StatusCode::kOutOfRange, Code::kTooLarge,
          absl::StrCat("tensor '", tensor.name, "' of shape ", ToString(tensor.shape), " is larger than any memory"),
          {"way out: a smaller --batch or --dim"});
    }
  }
  if (unknown > 0) {
    Diagnostic diagnostic{.code = Code::kShapeUnknown, .severity = Severity::kWarning, .count = unknown};
    diagnostic.message = absl::StrCat(unknown,
                                      " tensors have sizes that depend on data or on unknown operators; "
                                      "the result is a lower bound");
    lowered.diagnostics.push_back(std::move(diagnostic));
  }
  return absl::OkStatus();
}

// With --base-bits and --lora.
absl::StatusOr<Lowered> WithAdapters(Lowered lowered, const Run& run) {
  RETURN_IF_ERROR(PackBase(lowered, run));
  RETURN_IF_ERROR(AddLora(lowered, run));
  return lowered;
}

void CountLowering(const Lowered& lowered) {
  work::Spend(work::kOfLowering * static_cast<int64_t>(lowered.graph.nodes.size()));
}

}  // namespace

absl::StatusOr<Lowered> Prepare(const Source& source, const Run& run) {
  RETURN_IF_ERROR(work::CheckLeft());
  ASSIGN_OR_RETURN(Lowered lowered, Lower(source, run));
  RETURN_IF_ERROR(SettleShapes(lowered));
  names::AddWeightsOfRunBefore(lowered);
  // Local variables of the forward code decide an inference's peak, and a training step's where it lies in forward.
  lowered.releases = names::ReleaseAfter(lowered.graph, names::NameRules::kLocals);
  ASSIGN_OR_RETURN(lowered, WithAdapters(std::move(lowered), run));
  CountLowering(lowered);
  return lowered;
}

absl::StatusOr<Lowered> Prepare(const Graph& graph, const Run& run) {
  if (graph.record == nullptr) return Prepare(SourceOf(graph), run);
  RETURN_IF_ERROR(work::CheckLeft());
  ASSIGN_OR_RETURN(Lowered lowered, LowerRecord(*graph.record, run));
  RETURN_IF_ERROR(SettleShapes(lowered));
  ASSIGN_OR_RETURN(lowered, WithAdapters(std::move(lowered), run));
  CountLowering(lowered);
  return lowered;
}

}  // namespace onnx_mem
