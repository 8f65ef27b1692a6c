#include "analyzer/assume/choices/dropout_places.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "analyzer/assume/choices/dropout_gaps.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/transformer_parts.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// Between the last layer and the model's output. Of activations, the two that classifiers and detectors bound their
// results with: behind others comes no layer that models drop ahead of (a generator's tanh).
bool StandsAfterLastLayer(const OpName& op) {
  return op == "relu" || op == "sigmoid" || IsSoftmax(op) || IsAverage(op) || op == "upsample";
}

// True for the sums, the scaling by a number and the norm that an embedding's rows go through. Stored positions, sliced
// to the length, may be added.
bool IsEmbeddingSum(const Draft& draft, NodeId id, int depth = 0) {
  // Models add a token, a position and a type embedding; a longer chain of sums is none of them. A norm reads its scale
  // and bias too.
  constexpr int kMostSums = 6;
  constexpr size_t kMostInputs = 3;
  const FrameworkNode& node = draft.node(id);
  if (node.op != "add" && node.op != "layer_norm" && node.op != "mul_scalar") return false;
  if (depth == kMostSums || node.inputs.size() > kMostInputs) return false;
  bool embedding = false;
  for (TensorId input : node.inputs) {
    const NodeId maker = input.valid() ? MakerBeforeViews(draft, input) : NodeId();
    if (!maker.valid()) continue;
    if (draft.node(maker).op != "embedding" && !IsEmbeddingSum(draft, maker, depth + 1)) return false;
    embedding = true;
  }
  return embedding;
}

bool IsLastEmbeddingSum(const Draft& draft, NodeId id) {
  if (draft.node(id).op == "mul_scalar" || !IsEmbeddingSum(draft, id)) return false;
  for (NodeId reader : draft.readers(draft.node(id).outputs[0])) {
    if (IsEmbeddingSum(draft, reader)) return false;
  }
  return true;
}

// A feed-forward layer of T5, without biases: relu between two linears, and a dropout behind it.
bool IsPlainFeedForward(const Draft& draft, NodeId relu) {
  const FrameworkNode& node = draft.node(relu);
  if (node.op != "relu") return false;
  const NodeId before = draft.ProducerIf(node.inputs[0], "linear"),
               after = OnlyReaderIf(draft, node.outputs[0], "linear");
  return before.valid() && after.valid() && draft.node(before).inputs.size() == 2 &&
         draft.node(after).inputs.size() == 2;
}

// What makes the input of the layer that makes `output`.
NodeId BeforeLastLayer(const Draft& draft, TensorId output) {
  NodeId id = MakerBeforeViews(draft, output);
  while (id.valid() && StandsAfterLastLayer(draft.node(id).op)) id = MakerBeforeViews(draft, draft.node(id).inputs[0]);
  if (!id.valid() || (!IsLinear(draft.node(id).op) && draft.node(id).op != "conv")) return NodeId();
  const TensorId x = draft.node(id).inputs[0];
  return draft.OnlyReader(x) == id ? draft.producer(x) : NodeId();
}

bool IsHiddenActivation(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  if (!IsActivation(node.op) || draft.tensor(node.outputs[0]).shape.rank() > 3) return false;
  const NodeId reader = ReaderAfterViews(draft, node.outputs[0]);
  NodeId maker = MakerBeforeViews(draft, node.inputs[0]);
  if (!reader.valid() || !maker.valid()) return false;
  const bool sequence = draft.tensor(node.outputs[0]).shape.rank() == 3;
  const std::string_view next = draft.node(reader).op;
  if (sequence) return draft.node(maker).op == "conv" && (next == "conv" || next == "add");
  if (IsNorm(draft.node(maker).op)) maker = MakerBeforeViews(draft, draft.node(maker).inputs[0]);
  return maker.valid() && IsLinear(draft.node(maker).op) && IsLinear(draft.node(reader).op);
}

// The feed-forward layer of nn.TransformerEncoderLayer, whose activation is a relu unless it is set otherwise: a
// dropout behind it. BERT's, with a gelu, has none there.
bool IsPostNormFeedForward(const Draft& draft, NodeId relu) {
  if (draft.node(relu).op != "relu") return false;
  const NodeId after = OnlyReaderIf(draft, draft.node(relu).outputs[0], "linear");
  return after.valid() && IsPostNormSum(draft, ResidualSum(draft, draft.node(after).outputs[0]));
}

// nn.Transformer's, by the names of its layers.
bool IsNamedFeedForward(const Draft& draft, NodeId id) {
  return IsActivation(draft.node(id).op) && IsTorchFeedForward(draft, id);
}

// The rows of an embedding that nothing is added to before the first block: T5, whose positions are in its scores.
bool IsPlainStackInput(const Draft& draft, NodeId id) {
  if (draft.node(id).op != "embedding") return false;
  const NodeIds& readers = draft.readers(draft.node(id).outputs[0]);
  return readers.size() > 1 && std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           return draft.node(reader).op == "add" && !IsEmbeddingSum(draft, reader);
         });
}

// Of transformers.
void AddTransformerSpot(const Draft& draft, NodeId id, DropoutSpots& spots) {
  const FrameworkNode& node = draft.node(id);
  if (node.op == "sdpa" || IsAttentionWeight(draft, id)) {
    ++spots.attentions;
    spots.common.push_back({id, node.op == "sdpa" ? DropoutPlace::kKernel : DropoutPlace::kMaskAndResult, true});
  } else if (IsPlainFeedForward(draft, id) || IsPostNormFeedForward(draft, id) || IsNamedFeedForward(draft, id)) {
    spots.common.push_back({id, DropoutPlace::kMaskAndResult});
  } else if ((IsProjection(draft, id) && ResidualSum(draft, node.outputs[0]).valid()) ||
             IsLastEmbeddingSum(draft, id) || IsPlainStackInput(draft, id)) {
    spots.common.push_back({id, DropoutPlace::kMask});
  }
}

std::unordered_set<int32_t> NodesOf(const std::vector<DropoutSpot>& spots) {
  std::unordered_set<int32_t> nodes;
  for (const DropoutSpot& spot : spots) nodes.insert(spot.node.value());
  return nodes;
}

// Word embeddings that a recurrent layer reads, and each of its layers but the last (Zaremba et al. 2014, 3;
// torch/nn/modules/rnn.py, nn.LSTM(dropout=...)): the next layer saves the dropped result in place of the other.
bool IsReadByRecurrent(const Draft& draft, NodeId id) {
  const FrameworkNode& node = draft.node(id);
  if (node.op != "embedding" && !IsRecurrentLayer(node.op)) return false;
  const NodeId reader = ReaderAfterViews(draft, node.outputs[0]);
  return reader.valid() && IsRecurrentLayer(draft.node(reader).op);
}

// Of models without attention.
void AddOtherSpots(const Draft& draft, const TensorIds& outputs, DropoutSpots& spots) {
  NodeIds found = FindSequentialGaps(draft);
  for (TensorId output : outputs) found.push_back(BeforeLastLayer(draft, output));
  const std::unordered_set<int32_t> common = NodesOf(spots.common);
  for (NodeId id : draft.InOrder()) {
    const bool known = common.contains(id.value());
    const bool last = std::find(found.begin(), found.end(), id) != found.end();
    if (known) continue;
    if (last || IsHiddenActivation(draft, id)) spots.common.push_back({id, DropoutPlace::kMaskAndResult});
    if (!last && IsReadByRecurrent(draft, id)) spots.common.push_back({id, DropoutPlace::kMask});
  }
}

// True if `node` or its module matches and what it makes is read outside of that module.
bool LeavesMatch(const Draft& draft, const FrameworkNode& node, const NamePattern& pattern) {
  if (pattern.FoundIn(node.name)) return true;
  if (node.module.empty() || !pattern.FoundIn(node.module)) return false;
  const NodeIds& readers = draft.readers(node.outputs[0]);
  return draft.IsOutput(node.outputs[0]) || std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           return !pattern.FoundIn(draft.node(reader).module);
         });
}

}  // namespace

DropoutSpots FindDropoutSpots(const Draft& draft, const TensorIds& outputs) {
  DropoutSpots spots;
  for (NodeId id : draft.InOrder()) AddTransformerSpot(draft, id, spots);
  if (spots.attentions == 0) AddOtherSpots(draft, outputs, spots);
  DropoutLines lines(draft);
  std::erase_if(spots.common, [&](const DropoutSpot& spot) {
    return IsFollowedAtOnce(draft, spot.node) || lines.LeaveNoRoom(spot.node);
  });
  spots.common_bytes = DropoutBytes(draft, spots.common);
  const std::unordered_set<int32_t> common = NodesOf(spots.common);
  for (NodeId id : draft.InOrder()) {
    const bool known = common.contains(id.value());
    if (!known && MayDropBehind(draft, id) && !lines.LeaveNoRoom(id))
      spots.possible.push_back({id, DropoutPlace::kMaskAndResult});
  }
  spots.most_bytes = spots.common_bytes + DropoutBytes(draft, spots.possible);
  return spots;
}

absl::StatusOr<std::vector<DropoutSpot>> DropoutSpotsBehind(const Draft& draft, const std::string& pattern) {
  const std::optional<NamePattern> compiled = NamePattern::Compile(pattern);
  if (!compiled) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                       absl::StrCat("--dropout: '", pattern, "' is not a regular expression"));
  }
  std::vector<DropoutSpot> spots;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (node.outputs.empty() || !node.outputs[0].valid() || !IsFloating(draft.tensor(node.outputs[0]).dtype)) continue;
    if (LeavesMatch(draft, node, *compiled)) spots.push_back({id, DropoutPlace::kMaskAndResult});
  }
  return spots;
}

}  // namespace onnx_mem
