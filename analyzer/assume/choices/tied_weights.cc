// Folding unties weights: a language model's head shares its weight with the token embedding, but an evaluation export
// stores the head's transpose as a tensor of its own. Import joins the two where it can read their contents
// (analyzer/onnx/read/tied_weights.h); without them the head's build can tell (tied_head.h): [D, V] beside an embedding
// [V, D]. Where it does not, the two are counted apart, and a warning says what sharing would change. --tied settles
// it.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/assume/choices/tied_head.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

struct Head {
  NodeId linear;
  TensorId table;
};

// Linears whose weight an exporter stored under a name of its own, each with the embedding that it is the transpose of.
std::vector<Head> FindHeads(const Lowering& lowering) {
  const Draft& draft = lowering.draft;
  std::map<std::pair<int64_t, int64_t>, TensorId> tables;  // by rows and columns
  std::vector<Head> heads;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (node.op == "embedding") {
      const Dims& dims = draft.tensor(node.inputs[0]).shape.dims;
      if (dims.size() == 2) tables.emplace(std::pair(dims[0], dims[1]), node.inputs[0]);
      continue;
    }
    if (node.op != "linear" || IntAttribute(node, "transposed", 0) == 0) continue;
    const Tensor& weight = draft.tensor(node.inputs[1]);
    const bool may_be_folded = IsExporterName(weight.name) || draft.has_opaque_names();
    if (!may_be_folded || weight.contents != Contents::kUnseen) continue;
    const auto table = tables.find({weight.shape.dims[1], weight.shape.dims[0]});
    if (table != tables.end()) heads.push_back({id, table->second});
  }
  return heads;
}

enum class Tied { kUnlisted, kYes, kNo };

// What the exported program says: the call that the head became of names the parameter that it reads, and the file's
// tensors have the names of the signature's.
Tied ListedBySignature(const Lowering& lowering, const Head& head) {
  const Draft& draft = lowering.draft;
  const Node& source = lowering.source.nodes[NodeId(draft.rank(head.linear).source)];
  Tied reported = Tied::kUnlisted;
  for (const std::string& argument : FxCallOf(source).args) {
    const SignatureEntry* entry = lowering.source.signature.FindPlaceholder(argument);
    if (entry == nullptr || entry->kind != SignatureKind::kParameter) continue;
    if (entry->target == draft.tensor(head.table).name) return Tied::kYes;
    reported = Tied::kNo;
  }
  return reported;
}

// With fewer rows a layer of so many features is as likely, where the program does not say what the call reads.
bool IsVocabulary(const Draft& draft, TensorId table) {
  constexpr int64_t kSmallest = 1'000;
  return draft.tensor(table).shape.dims[0] >= kSmallest;
}

int64_t WeightBytes(const Draft& draft, const Head& head) {
  const Tensor& weight = draft.tensor(draft.node(head.linear).inputs[1]);
  return NumBytes(weight.shape, weight.dtype).value_or(0);
}

void SayMayBeTied(Lowering& lowering, int64_t count, int64_t bytes) {
  Diagnostic warning{.code = Code::kMaybeTied, .severity = Severity::kWarning, .count = count};
  warning.message = absl::StrCat(
      "an output projection may share the token embedding's weight, which a folded export does not "
      "show: it is counted apart, ",
      FormatBytes(bytes), " of parameters");
  warning.details = {"why: gradients and optimizer states come on top of them",
                     "try: ... --tied yes   # if they are shared; no if not", std::string(kExportRecipe)};
  warning.bytes = bytes;
  lowering.diagnostics.push_back(std::move(warning));
}

void SayTied(Lowering& lowering, int64_t count, const std::set<std::string>& reasons, int64_t bytes) {
  Diagnostic d{.code = Code::kTiedWeights, .severity = Severity::kWarning, .count = count};
  d.message = absl::StrCat(count, " output projections are counted as sharing the token embedding's weight, ",
                           absl::StrJoin(reasons, ", "));
  d.details = {"why: the exporter stored its transpose, and the file does not show whether the two are one parameter",
               "try: ... --tied no   # if they are not"};
  d.bytes = bytes;
  lowering.diagnostics.push_back(std::move(d));
}

void Tie(Draft& draft, const Head& head) {
  TensorIds inputs = draft.node(head.linear).inputs;
  inputs[1] = head.table;
  draft.SetInputs(head.linear, std::move(inputs));
  draft.mutable_node(head.linear).attributes["transposed"] = int64_t{0};
}

}  // namespace

int64_t TieWeights(Lowering& lowering) {
  const TiedMode mode = lowering.run.tied;
  if (mode == TiedMode::kNo) return 0;
  int64_t possible = 0, possible_bytes = 0, tied = 0, tied_bytes = 0;
  std::set<std::string> reasons;
  for (const Head& head : FindHeads(lowering)) {
    const Tied reported = mode == TiedMode::kAuto ? ListedBySignature(lowering, head) : Tied::kUnlisted;
    if (reported == Tied::kNo) continue;
    if (reported == Tied::kYes) {
      Tie(lowering.draft, head);
      continue;
    }
    if (!IsVocabulary(lowering.draft, head.table)) continue;
    const int64_t bytes = WeightBytes(lowering.draft, head);
    const std::string why(mode == TiedMode::kYes ? "as --tied says" : WhyTied(lowering.draft, head.linear, head.table));
    if (why.empty()) {
      ++possible;
      possible_bytes += bytes;
      continue;
    }
    Tie(lowering.draft, head);
    reasons.insert(why);
    ++tied;
    tied_bytes += bytes;
  }
  if (tied > 0 && mode == TiedMode::kAuto) SayTied(lowering, tied, reasons, tied_bytes);
  if (possible > 0) SayMayBeTied(lowering, possible, possible_bytes);
  return tied;
}

}  // namespace onnx_mem
