#include "analyzer/prepare/lower.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/assume/choices/inplace.h"
#include "analyzer/assume/choices/loose_parameters.h"
#include "analyzer/assume/choices/unread_buffers.h"
#include "analyzer/assume/choices/unread_layers.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/exported/value_names.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/shape.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/lower/draft/dtype_change.h"
#include "analyzer/lower/draft/source_inplace.h"
#include "analyzer/lower/facts/lost_tensors.h"
#include "analyzer/lower/facts/parameter_paths.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/facts/scopes.h"
#include "analyzer/lower/operators/ops.h"
#include "analyzer/lower/operators/residence.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/lower/operators/table.h"
#include "analyzer/run/assumed_operators.h"
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

void ReportAssumed(const Lowering& lowering, std::vector<Diagnostic>& diagnostics) {
  if (!lowering.assumed.empty()) diagnostics.push_back(AssumedOperators(lowering.assumed, "nodes"));
  if (lowering.data_dependent > 0) {
    diagnostics.push_back({Code::kOpaqueSubgraph,
                           Severity::kWarning,
                           lowering.data_dependent,
                           absl::StrCat(lowering.data_dependent,
                                        " If, Loop or Scan nodes are counted as the peak of one run of their body"),
                           {},
                           {}});
  }
}

int64_t ResultBytes(const Draft& draft, const NodeIds& nodes) {
  int64_t bytes = 0;
  for (NodeId id : nodes) {
    const Tensor& result = draft.tensor(draft.node(id).outputs[0]);
    bytes += NumBytes(result.shape, result.dtype).value_or(0);
  }
  return bytes;
}

// The first of `names`.
std::string Named(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> named(names.begin(), names.begin() + static_cast<int64_t>(std::min(kNamed, names.size())));
  if (names.size() > kNamed) named.emplace_back("...");
  return absl::StrJoin(named, ", ");
}

// Parameters that nothing reads have no gradient, but lie in memory.
void ReportLostTensors(const LostTensors& lost, Lowered& lowered) {
  const auto note = [&](Code code, int64_t count, absl::string_view words) {
    if (count == 0) return;
    lowered.plain_rewrites.push_back(
        {.code = code, .severity = Severity::kNote, .count = count, .message = absl::StrCat(count, words)});
  };
  note(Code::kMergedTensors, lost.merged,
       " tensors that the exporter made one with others of equal contents are counted for themselves");
  note(Code::kDroppedBias, lost.biases,
       " biases that the exporter dropped because they are zero are counted and added");
  if (lost.unknown.empty()) return;
  lowered.unread_parameter_bytes = lost.unknown_bytes;
  const auto count = static_cast<int64_t>(lost.unknown.size());
  lowered.diagnostics.push_back(
      {Code::kParameterUnread,
       Severity::kWarning,
       count,
       absl::StrCat(count, " parameters of the module are not in the file by their names"),
       {absl::StrCat("what: ", Named(lost.unknown)),
        absl::StrCat("why: no operator reads them. What the exporter computed of one and stored counts as a parameter; "
                     "of the others nothing tells the size. As large as others of the model they take ",
                     FormatBytes(lost.unknown_bytes), ", which the range has")},
       lost.unknown_bytes});
}

void ReportUnreadBuffers(const LostTensors& lost, const ProgramSignature& signature, Lowered& lowered) {
  if (signature.empty()) {
    lowered.unread_buffer_bytes = MostBytesOfPositions(lowered);
    lowered.unread_parameter_bytes = MostBytesOfUnreadLayers(lowered);
    return;
  }
  lowered.assumptions.emplace_back(kTensorsListed);
  if (!lost.unknown.empty() || !lost.unread_buffers.empty()) lowered.assumptions.emplace_back(kTensorsMissing);
  if (!lost.unknown.empty()) lowered.assumptions.emplace_back(kParametersMissing);
  if (lost.unread_buffers.empty()) return;
  lowered.unread_buffer_bytes = MostBytesOfBuffers(lost.unread_buffers, signature, lowered);
  lowered.diagnostics.push_back(
      {Code::kBufferUnread,
       Severity::kNote,
       static_cast<int64_t>(lost.unread_buffers.size()),
       absl::StrCat(lost.unread_buffers.size(), " buffers of the module are not in the file, and are not counted"),
       {absl::StrCat("what: ", Named(lost.unread_buffers)),
        absl::StrCat("why: the exporter computed on them and kept what came out. They take at most about ",
                     FormatBytes(lowered.unread_buffer_bytes), ", which the range has")},
       lowered.unread_buffer_bytes});
}

// A leaky_relu that writes over its input keeps its result for backward, as does what reads it; otherwise its input is
// kept too. No export shows which.
void ReportInPlace(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  NodeIds nodes = draft.InOrder();
  EraseIf(nodes, [&](NodeId id) {
    return draft.node(id).op != "leaky_relu" || IntAttribute(draft.node(id), "inplace", 0) != 1;
  });
  if (nodes.empty()) return;
  const auto count = static_cast<int64_t>(nodes.size());
  const int64_t bytes = ResultBytes(draft, nodes);
  diagnostics.push_back(
      {Code::kInplaceAssumed,
       Severity::kNote,
       count,
       absl::StrCat(count, " LeakyReLUs are taken to write over what they read, as they usually do behind a layer"),
       {"why: otherwise what they read is kept for backward too", "try: ... --inplace none   # if they do not"},
       bytes});
}

// The same of activations that are written either way, which are taken not to.
void ReportMaybeInPlace(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const NodeIds nodes = PossiblyInPlace(draft);
  if (nodes.empty()) return;
  const auto count = static_cast<int64_t>(nodes.size());
  diagnostics.push_back(
      {Code::kInplacePossible,
       Severity::kNote,
       count,
       absl::StrCat(count,
                    " LeakyReLUs, ELUs and their like are taken to give tensors of their own, as half of all "
                    "code has it"),
       {"why: with inplace=True they write over what they read, and backward keeps less",
        "try: ... --inplace all   # if they do; or a pattern of their modules"},
       ResultBytes(draft, nodes)});
}

// What the source lines of a dynamo export settle (exported/source_trace.h) is no guess, but a fact of that program.
void AssumeSourceLines(const Draft& draft, std::vector<std::string>& assumptions) {
  bool any = false;
  int64_t in_place = 0;
  for (NodeId id : draft.InOrder()) {
    any |= draft.node(id).source_trace != nullptr;
    in_place += IntAttribute(draft.node(id), "inplace", 0) == kInPlaceBySource;
  }
  if (any) assumptions.emplace_back(kNamesBySource);
  if (in_place > 0) assumptions.push_back(absl::StrCat("in-place writes that source lines show (", in_place, ")"));
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
  ReportLostTensors(source.lost, lowered);
  ReportAssumed(lowering, lowered.diagnostics);
  Draft::Finished finished = std::move(draft).Finish();
  lowered.graph = std::move(finished.graph);
  lowered.kinds = std::move(finished.kinds);
  NameParameters(graph.signature, lowered.kinds, lowered.graph);
  lowered.frozen = std::move(lowering.frozen);
  lowered.hidden_buffer_bytes = lowering.hidden_buffer_bytes;
  lowered.training_form = lowering.training_form;
  lowered.computed_bytes = ComputedBytes(graph.signature, lowered);
  ReportUnreadBuffers(source.lost, graph.signature, lowered);
  if (std::optional<Diagnostic> found = FindConstantWeights(lowered); found && run.training && run.freeze.empty()) {
    lowered.diagnostics.push_back(*std::move(found));
  }
  return lowered;
}

}  // namespace onnx_mem
