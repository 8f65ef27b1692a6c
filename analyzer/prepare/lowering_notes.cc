#include "analyzer/prepare/lowering_notes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/assume/choices/inplace.h"
#include "analyzer/assume/choices/unread_buffers.h"
#include "analyzer/assume/choices/unread_layers.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/shape.h"
#include "analyzer/lower/draft/source_inplace.h"
#include "analyzer/run/assumed_operators.h"

namespace onnx_mem {
namespace {

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

}  // namespace

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

// Parameters that nothing reads have no gradient, but lie in memory. What a step makes of those that the exporter
// folded is kept for the backward.
void ReportLostTensors(const LostTensors& lost, bool training, Lowered& lowered) {
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
  lowered.unread_parameter_bytes = lost.unknown_most.bytes + (training ? lost.unknown_most.on_the_way_bytes : 0);
  const auto count = static_cast<int64_t>(lost.unknown.size());
  lowered.diagnostics.push_back(
      {Code::kParameterUnread,
       Severity::kWarning,
       count,
       absl::StrCat(count, " parameters of the module are not in the file by their names"),
       {absl::StrCat("what: ", Named(lost.unknown)),
        absl::StrCat("why: no operator reads them. What the exporter computed of one and stored counts as a parameter; "
                     "of the others nothing tells the size. As large as others of the model they take ",
                     FormatBytes(lost.unknown_most.bytes), ", which the range has")},
       lost.unknown_most.bytes});
}

void AddDeadBranches(const LostTensors& lost, bool training, Lowered& lowered) {
  const int64_t bytes = MostBytesOfDeadBranches(lost.unknown, training, lowered);
  const auto found = std::find_if(lowered.diagnostics.begin(), lowered.diagnostics.end(),
                                  [](const Diagnostic& d) { return d.code == Code::kParameterUnread; });
  if (bytes == 0 || found == lowered.diagnostics.end()) return;
  lowered.unread_parameter_bytes += bytes;
  found->details.push_back(absl::StrCat("if forward runs them and reads nothing of what they make: at most ",
                                        FormatBytes(bytes), " more, which the range has too"));
}

void ReportUnreadBuffers(const LostTensors& lost, const ProgramSignature& signature, Lowered& lowered) {
  if (signature.empty()) {
    lowered.unread_buffer_bytes = MostBytesOfPositions(lowered);
    lowered.unread_parameter_bytes = MostBytesOfUnreadLayers(lowered);
    return;
  }
  lowered.assumptions.emplace_back(kTensorsListed);
  if (!lost.unknown.empty()) lowered.assumptions.emplace_back(kParametersMissing);
  if (lost.unread_buffers.empty()) return;
  lowered.unread_buffer_bytes = MostBytesOfBuffers(lost.unread_buffers, signature, lowered);
  lowered.diagnostics.push_back(
      {Code::kBufferUnread,
       Severity::kNote,
       static_cast<int64_t>(lost.unread_buffers.size()),
       absl::StrCat(lost.unread_buffers.size(), " buffers of the module are not in the file, and are not counted"),
       {absl::StrCat("what: ", Named(lost.unread_buffers)),
        absl::StrCat(
            "why: forward does not read them (what it writes of them is an output), or the exporter computed on "
            "them and kept what came out. They take at most about ",
            FormatBytes(lowered.unread_buffer_bytes), ", which the range has")},
       lowered.unread_buffer_bytes});
}

// A leaky_relu (or another of its kind) that writes over its input keeps its result for backward, as does what reads
// it; otherwise its input is kept too. No export shows which.
void ReportInPlace(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  NodeIds nodes = draft.InOrder();
  EraseIf(nodes, [&](NodeId id) {
    return !SavesResultInPlaceAlone(draft.node(id).op) || IntAttribute(draft.node(id), "inplace", 0) != 1;
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

}  // namespace onnx_mem
