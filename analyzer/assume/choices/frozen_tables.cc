// Tables of positions that are parameters of their modules and are not trained: requires_grad is False, which no file
// says. What tells is what is done with them:
//
//   RoFormer    rows for 0, 1, 2 ... are split into sines and cosines that queries and keys are multiplied with, and
//               nothing is ever added: a rotary embedding
//   Whisper     all rows of a table [T, D] are added to what convolutions over time gave [B, T, D]: its encoder's
//               sinusoids
//
// and what they hold, where the contents are there (Tensor::contents). Sources: transformers/models/roformer/
// modeling_roformer.py (RoFormerSinusoidalPositionalEmbedding), transformers/models/whisper/modeling_whisper.py.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// On the way from a table's rows to the product: views, and the interleaving of halves.
constexpr auto kLayout = std::to_array<std::string_view>({"cast", "cat", "clone", "contiguous", "embedding", "expand",
                                                          "index", "permute", "repeat", "reshape", "select", "slice",
                                                          "split", "squeeze", "stack", "unbind", "unsqueeze"});
constexpr auto kHalves = std::to_array<std::string_view>({"cat", "select", "slice", "split", "stack", "unbind"});

// True if nothing that the run is given goes into the tensor: positions.
bool IsMadeOfNumbers(const Draft& draft, TensorId id, int depth = 0) {
  constexpr int kDeepest = 12;
  if (draft.kind(id) == TensorKind::kInput || depth == kDeepest) return false;
  const NodeId maker = draft.producer(id);
  if (!maker.valid()) return draft.kind(id) != TensorKind::kParameter;
  const TensorIds& inputs = draft.node(maker).inputs;
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](TensorId input) { return !input.valid() || IsMadeOfNumbers(draft, input, depth + 1); });
}

// Rows of the table are looked up by positions.
bool IsLookedUpByPosition(const Draft& draft, TensorId table) {
  const NodeIds& readers = draft.readers(table);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = draft.node(reader);
    if (node.op == "slice") return true;
    return node.op == "embedding" && node.inputs[0] == table && IsMadeOfNumbers(draft, node.inputs[1]);
  });
}

// True if all that is made of the table are factors of something else, and its halves were told apart on the way.
bool IsRotary(const Draft& draft, TensorId table) {
  constexpr size_t kMost = 512;
  if (!IsLookedUpByPosition(draft, table)) return false;
  TensorIds open = {table};
  absl::flat_hash_set<TensorId> own = {table};
  NodeIds products;
  bool halved = false;
  while (!open.empty() && own.size() < kMost) {
    const TensorId id = open.back();
    open.pop_back();
    if (draft.IsOutput(id)) return false;
    for (NodeId reader : draft.readers(id)) {
      const Node& node = draft.node(reader);
      if (node.op == "mul") {
        products.push_back(reader);
        continue;
      }
      if (!IsOneOf(kLayout, node.op)) return false;
      halved = halved || (id != table && IsOneOf(kHalves, node.op));
      for (TensorId output : node.outputs) {
        if (output.valid() && own.insert(output).second) open.push_back(output);
      }
    }
  }
  return halved && !products.empty() && std::all_of(products.begin(), products.end(), [&](NodeId product) {
    const TensorIds& factors = draft.node(product).inputs;
    return std::count_if(factors.begin(), factors.end(), [&](TensorId factor) { return own.contains(factor); }) == 1;
  });
}

// Frames that convolutions over time gave: [B, T, D] of a convolution's [B, D, T], its activation between.
bool AreFrames(const Draft& draft, TensorId id) {
  constexpr auto kActivations = std::to_array<std::string_view>({"gelu", "relu", "silu"});
  const NodeId permute = draft.ProducerIf(id, "permute");
  if (!permute.valid()) return false;
  NodeId maker = draft.producer(draft.node(permute).inputs[0]);
  if (maker.valid() && IsOneOf(kActivations, draft.node(maker).op)) maker = draft.producer(draft.node(maker).inputs[0]);
  return maker.valid() && draft.node(maker).op == "conv" &&
         draft.tensor(draft.node(maker).outputs[0]).shape.rank() == 3;
}

// [T, D], all of whose rows are added to frames at once.
bool IsAddedToFrames(const Draft& draft, TensorId table) {
  const Dims& dims = draft.tensor(table).shape.dims;
  if (dims.size() != 2 || draft.readers(table).size() != 1) return false;
  TensorId rows = table;
  const NodeId lookup = OnlyReaderIf(draft, table, "embedding");
  if (lookup.valid()) {
    if (!IsMadeOfNumbers(draft, draft.node(lookup).inputs[1])) return false;
    rows = draft.node(lookup).outputs[0];
  }
  const NodeId sum = OnlyReaderIf(draft, rows, "add");
  const TensorId frames = sum.valid() ? OtherOperand(draft.node(sum), rows) : TensorId();
  return frames.valid() && draft.tensor(rows).shape.dims == dims && AreFrames(draft, frames);
}

}  // namespace

int64_t FreezeTables(Lowering& lowering) {
  const Draft& draft = lowering.draft;
  std::vector<std::string> names;
  for (int32_t i = 0; i < static_cast<int32_t>(draft.num_tensors()); ++i) {
    const TensorId id(i);
    if (draft.kind(id) != TensorKind::kParameter || draft.tensor(id).shape.rank() < 2 || draft.readers(id).empty())
      continue;
    if (draft.tensor(id).contents != Contents::kSinusoids && !IsRotary(draft, id) && !IsAddedToFrames(draft,
                                                                                                      id)) continue;
    lowering.frozen.insert(id);
    names.push_back(draft.tensor(id).name);
  }
  if (names.empty()) return 0;
  Diagnostic d{Code::kFrozenTable,
               Severity::kNote,
               static_cast<int64_t>(names.size()),
               absl::StrCat(names.size(), " tables of positions are taken for sinusoids, which nothing trains"),
               {},
               {}};
  d.details.push_back(absl::StrCat("what: ", absl::StrJoin(names, ", ")));
  d.details.push_back("try: --no-rewrite frozen-tables if they are trained");
  lowering.diagnostics.push_back(std::move(d));
  return static_cast<int64_t>(names.size());
}

}  // namespace onnx_mem
