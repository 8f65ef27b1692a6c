// Folding unties weights: a language model's head shares its weight with the token embedding, but an evaluation export
// stores the head's transpose as a tensor of its own. Import joins the two where it can read their contents
// (analyzer/onnx/tied_weights.h); without them only the shapes can tell: [D, V] beside an embedding [V, D] with a
// vocabulary too large to be a coincidence, or a bias on the head that encoder-decoders of transformers have together
// with a shared embedding (modeling_bart.py, modeling_marian.py: final_logits_bias). With a smaller vocabulary the two are
// counted apart, and a note says what sharing would change.
#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/tied_weight_mark.h"
#include "analyzer/lower/match.h"
#include "analyzer/lower/parameters.h"
#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

constexpr int64_t kSmallestVocabulary = 16'000;
// Below this a layer of so many features is as likely.
constexpr int64_t kSmallestPossible = 1'000;

void SayMayBeTied(Lowering& lowering, int64_t count, int64_t bytes) {
  Diagnostic note{.code = "maybe-tied", .severity = Severity::kNote, .count = count};
  note.message = absl::StrCat("an output projection may share the token embedding's weight, which a folded export does not "
                              "show: it is counted apart, ", bytes, " B of parameters");
  note.details = {"why: gradients and optimizer states come on top of them",
                  "try: export in training mode, or with dynamo, which keep shared weights shared"};
  note.bytes = bytes;
  lowering.diagnostics.push_back(std::move(note));
}

// Import has seen that the contents are no embedding's.
bool IsKnownToBeOwn(const Graph& source, TensorId weight) {
  if (!source.tensors.contains(weight)) return false;
  const std::vector<NodeId>& readers = source.tensors[weight].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const auto mark = source.nodes[reader].metadata.find(kOwnWeight);
    return mark != source.nodes[reader].metadata.end() && mark->second == source.tensors[weight].name;
  });
}

// self.lm_head(x) + self.final_logits_bias
bool HasLogitsBias(const Draft& draft, TensorId logits) {
  const NodeId sum = OnlyReaderIf(draft, logits, "add");
  const TensorId bias = sum.valid() ? OtherOperand(draft.node(sum), logits) : TensorId();
  return bias.valid() && absl::EndsWith(draft.tensor(bias).name, "final_logits_bias");
}

}  // namespace

int64_t TieWeights(Lowering& lowering) {
  Draft& draft = lowering.draft;
  std::map<std::pair<int64_t, int64_t>, TensorId> tables;  // by rows and columns
  int64_t count = 0, possible = 0, possible_bytes = 0;
  for (NodeId id : draft.InOrder()) {
    const Node& node = draft.node(id);
    if (node.op == "embedding") {
      const Dims& dims = draft.tensor(node.inputs[0]).shape.dims;
      if (dims.size() == 2 && dims[0] >= kSmallestPossible) tables.emplace(std::pair(dims[0], dims[1]), node.inputs[0]);
      continue;
    }
    if (node.op != "linear" || IntAttribute(node, "transposed", 0) == 0) continue;
    const Tensor& weight = draft.tensor(node.inputs[1]);
    if (!IsExporterName(weight.name) || IsKnownToBeOwn(lowering.source, node.inputs[1])) continue;
    auto table = tables.find({weight.shape.dims[1], weight.shape.dims[0]});
    if (table == tables.end()) continue;
    if (weight.shape.dims[1] <= kSmallestVocabulary && !HasLogitsBias(draft, node.outputs[0])) {
      ++possible;
      possible_bytes += NumBytes(weight.shape, weight.dtype).value_or(0);
      continue;
    }
    std::vector<TensorId> inputs = node.inputs;
    inputs[1] = table->second;
    draft.SetInputs(id, std::move(inputs));
    draft.mutable_node(id).attributes["transposed"] = int64_t{0};
    ++count;
  }
  if (count > 0) {
    lowering.diagnostics.push_back({"tied-weights", Severity::kNote, count,
                                    absl::StrCat(count, " output projections are counted as sharing the token embedding's "
                                                 "weight: the exporter stored its transpose"),
                                    {}, {}});
  }
  if (possible > 0) SayMayBeTied(lowering, possible, possible_bytes);
  return count;
}

}  // namespace onnx_mem
