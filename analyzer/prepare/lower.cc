#include "analyzer/prepare/lower.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/choices/inplace.h"
#include "analyzer/assume/choices/loose_parameters.h"
#include "analyzer/assume/regions/grad_regions.h"
#include "analyzer/exported/value_names.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/lower/draft/dtype_change.h"
#include "analyzer/lower/facts/parameter_paths.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/facts/results_of_buffers.h"
#include "analyzer/lower/facts/scopes.h"
#include "analyzer/lower/operators/ops.h"
#include "analyzer/lower/operators/residence.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/lower/operators/table.h"
#include "analyzer/prepare/lowering_notes.h"
#include "analyzer/run/limits.h"

namespace onnx_mem {
namespace {

// A node all of whose operands are numbers makes its result from them.
bool HasOnlyNumbers(const Site& site, const TableRow& row) {
  bool any = false;
  for (size_t i = 0; i < site.num_inputs(); ++i) {
    if (!site.Has(i) || row.slots.kind(i) != SlotKind::kDevice) continue;
    if (site.In(i).valid()) return false;
    any = true;
  }
  return any && site.node().captures.empty() && site.node().subgraphs.empty();
}

absl::Status LacksInput(const Graph& graph, NodeId id, int input) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel,
                     absl::StrCat(Describe(graph, id), ": input ", input, " is missing"));
}

absl::Status TooManyOperators(const Graph& graph, NodeId id, int64_t most) {
  const Node& node = graph.nodes[id];
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kTooLarge,
      absl::StrCat(Describe(graph, id), " and those before it become more than ", most, " operators of the framework"),
      {absl::StrCat("why: it has ", node.inputs.size(), " inputs and ", node.outputs.size(), " outputs")});
}

absl::Status LowerNodes(const IdVector<NodeId, CallScope>& scopes, Lowering& lowering) {
  const int64_t most = limits::LoweredNodes(static_cast<int64_t>(lowering.source.nodes.size()));
  for (NodeId id(0); lowering.source.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Node& node = lowering.source.nodes[id];
    if (!lowering.residence.runs[id] || node.op == "Constant") continue;
    const TableRow* row = FindRow(node);
    Site site(lowering, id, row, scopes[id]);
    const int missing = row == nullptr ? -1 : MissingInput(*row, node);
    if (missing >= 0 && lowering.source.opset > 0) return LacksInput(lowering.source, id, missing);
    const bool unknown = row == nullptr || (missing >= 0 && !row->domain.empty());
    if (unknown || !IsInOpset(*row, node, lowering.source)) {
      site.Assume();
    } else if (HasOnlyNumbers(site, *row)) {
      site.Emit("full", {}, node.outputs);
    } else {
      row->lower(site);
    }
    if (lowering.draft.made() > most) return TooManyOperators(lowering.source, id, most);
  }
  for (TensorId id : lowering.residence.read_back) lowering.draft.Keep(lowering.draft.Resolve(id));
  return absl::OkStatus();
}

void ApplyRewrites(Lowering& lowering, std::span<const Rewrite> rewrites, Lowered& lowered) {
  for (const Rewrite& rewrite : rewrites) {
    const auto& disabled = lowering.run.disabled_rewrites;
    if (std::find(disabled.begin(), disabled.end(), rewrite.name) != disabled.end()) continue;
    const int64_t count = rewrite.apply(lowering);
    if (count == 0 || rewrite.reported == Reporting::kByItself) continue;
    auto& notes = rewrite.reported == Reporting::kAlways ? lowered.diagnostics : lowered.plain_rewrites;
    notes.push_back({.code = Code::kRewrite,
                     .count = count,
                     .message = absl::StrCat(count, " ", std::string(rewrite.description)),
                     .rewrite = std::string(rewrite.name)});
  }
}

// They were taken for weights by what reads them.
void SettleResultsOfBuffers(const LostTensors& lost, Lowering& lowering) {
  if (!lost.unknown.empty()) return;
  for (TensorId id : ResultsOfBuffers(lowering.source)) {
    if (lowering.draft.kind(id) == TensorKind::kParameter) lowering.draft.SetKind(id, TensorKind::kBuffer);
  }
}

// Graph outputs that no node makes (a stored tensor handed out as it is) still have to be something.
void SettleOutputs(Lowering& lowering) {
  for (TensorId id : lowering.source.outputs) {
    const TensorId tensor = lowering.draft.Resolve(id);
    if (lowering.draft.kind(tensor) != TensorKind::kHost || lowering.draft.producer(tensor).valid()) continue;
    if (lowering.source.tensors[id].role == TensorRole::kInitializer) {
      lowering.draft.SetKind(tensor, KindOfStored(lowering.source, tensor));
    }
  }
}

// Where the file has the program's signature, the module's tensors are in it; else the name is made up.
bool IsComputed(const ProgramSignature& signature, const std::string& name) {
  if (signature.empty()) return IsExporterName(name) || !FoldedCall(name).empty();
  return signature.FindTarget(name) == nullptr && signature.FindPlaceholder(name) == nullptr;
}

// Exporters compute what they can, and so does the reader of the file (zeros, ranges), in either mode.
int64_t ComputedBytes(const ProgramSignature& signature, const Lowered& lowered) {
  int64_t bytes = 0;
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = lowered.graph.tensors[id];
    if (lowered.kinds[id] != TensorKind::kBuffer || tensor.producer.valid()) continue;
    if (IsComputed(signature, tensor.name)) bytes += NumBytes(tensor.shape, tensor.dtype).value_or(0);
  }
  return bytes;
}

// Stored tensors that the program's signature lists are on the device with the module, also where operators read their
// shapes alone (torch.randn_like of a parameter), or nothing of them.
void SettleListed(const ProgramSignature& signature, Lowered& lowered) {
  for (TensorId id : lowered.graph.initializers) {
    const Tensor& tensor = lowered.graph.tensors[id];
    const SignatureEntry* entry = signature.FindTarget(tensor.name);
    if (entry == nullptr || entry->kind == SignatureKind::kConstant || lowered.kinds[id] != TensorKind::kHost) continue;
    const bool is_parameter = entry->kind == SignatureKind::kParameter && IsFloating(tensor.dtype);
    lowered.kinds[id] = is_parameter ? TensorKind::kParameter : TensorKind::kBuffer;
  }
}

// The draft becomes the graph, and takes along what was found out of its tensors.
void FinishGraph(Lowering& lowering, Lowered& lowered) {
  const ProgramSignature& signature = lowering.source.signature;
  Draft::Finished finished = std::move(lowering.draft).Finish();
  lowered.graph = std::move(finished.graph);
  lowered.kinds = std::move(finished.kinds);
  SettleListed(signature, lowered);
  NameParameters(signature, lowered.kinds, lowered.graph);
  lowered.frozen = std::move(lowering.frozen);
  lowered.hidden_buffer_bytes = lowering.hidden_buffer_bytes;
  lowered.training_form = lowering.training_form;
  lowered.computed_bytes = ComputedBytes(signature, lowered);
}

}  // namespace

absl::StatusOr<Lowered> Lower(const Graph& graph, const Run& run, std::span<const Rewrite> rewrites) {
  return Lower(SourceOf(graph), run, rewrites);
}

absl::StatusOr<Lowered> Lower(const Source& source, const Run& run, std::span<const Rewrite> rewrites) {
  RETURN_IF_ERROR(CheckRewriteNames(run.disabled_rewrites));
  const Graph& graph = source.graph();
  Draft draft(graph);
  const auto& off = run.disabled_rewrites;
  if (std::find(off.begin(), off.end(), "opaque-names") != off.end()) draft.TakeNamesAsModules();
  if (run.dtype) ChangeDtype(draft, *run.dtype);
  Lowering lowering{graph, run, source.residence, draft};
  lowering.training_form = source.training_form;
  RETURN_IF_ERROR(LowerNodes(source.scopes, lowering));
  if (draft.has_opaque_names()) lowering.diagnostics.push_back(OpaqueNames(graph));
  Lowered lowered;
  draft.RemoveUnread();
  SettleResultsOfBuffers(source.lost, lowering);
  ApplyRewrites(lowering, rewrites, lowered);
  SettleOutputs(lowering);
  absl::StatusOr<int64_t> in_place = MarkInPlace(draft, run);
  if (!in_place.ok()) return in_place.status();
  if (*in_place > 0) lowered.assumptions.push_back(absl::StrCat("in-place activations (", *in_place, ")"));
  if (run.training && run.inplace == "auto") {
    ReportInPlace(draft, lowered.diagnostics);
    ReportMaybeInPlace(draft, lowered.diagnostics);
  }
  AssumeSourceLines(draft, lowered.assumptions);
  // What the file does not show comes before what it showed in pieces.
  lowered.diagnostics.insert(lowered.diagnostics.begin(), std::make_move_iterator(lowering.diagnostics.begin()),
                             std::make_move_iterator(lowering.diagnostics.end()));
  lowered.diagnostics.insert(lowered.diagnostics.end(), source.exporter_findings.begin(),
                             source.exporter_findings.end());
  ReportLostTensors(source.lost, run.training, lowered);
  ReportAssumed(lowering, lowered.diagnostics);
  FinishGraph(lowering, lowered);
  if (run.training) SettleGradRegions(lowered);
  AddDeadBranches(source.lost, run.training, lowered);
  ReportUnreadBuffers(source.lost, graph.signature, lowered);
  if (std::optional<Diagnostic> found = FindConstantWeights(lowered); found && run.training && run.freeze.empty()) {
    lowered.diagnostics.push_back(*std::move(found));
  }
  return lowered;
}

}  // namespace onnx_mem
