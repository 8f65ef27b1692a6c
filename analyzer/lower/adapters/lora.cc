#include "analyzer/lower/adapters/lora.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/lower/adapters/layers.h"
#include "analyzer/lower/adapters/lora_nodes.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// What a matrix of rows is a view of, [batch, tokens, features]; else the matrix itself.
TensorId BehindRows(const Lowered& lowered, TensorId rows) {
  const Tensor& matrix = lowered.graph.tensors[rows];
  if (matrix.shape.rank() != 2 || !matrix.producer.valid()) return rows;
  const FrameworkNode& node = lowered.graph.nodes[matrix.producer];
  if (node.op != "reshape" || node.inputs.empty() || !node.inputs[0].valid()) return rows;
  const Shape& whole = lowered.graph.tensors[node.inputs[0]].shape;
  return whole.rank() > 2 && whole.dims.back() == matrix.shape.dims.back() ? node.inputs[0] : rows;
}

std::optional<AdaptedLayer> LayerOf(const Lowered& lowered, const FrameworkNode& node) {
  const bool product = IsProduct(node.op) || IsPacked(node);
  const bool convolution = node.op == "conv" && IntAttribute(node, "group", 1) == 1;
  if ((!product && !convolution) || node.inputs.size() < 2 || !node.inputs[0].valid()) return std::nullopt;
  const TensorId weight = ParameterBehind(lowered, node.inputs[1]);
  if (!weight.valid()) return std::nullopt;
  const Shape& x = lowered.graph.tensors[node.inputs[0]].shape;
  const Shape& y = lowered.graph.tensors[node.outputs[0]].shape;
  const size_t rank = lowered.graph.tensors[weight].shape.rank();
  if (x.rank() < 2 || x.rank() != y.rank() || (convolution ? rank != x.rank() : rank != 2)) return std::nullopt;
  return AdaptedLayer{.weight = weight,
                      .x = lowered.recorded && product ? BehindRows(lowered, node.inputs[0]) : node.inputs[0],
                      .convolution = convolution};
}

struct LayerPattern {
  const Lora& wanted;
  NamePattern name;
  bool matched = false;
};

bool InFunction(const Lowered& lowered, int32_t index) {
  return std::any_of(lowered.functions.begin(), lowered.functions.end(), [&](const UserFunction& function) {
    return function.span.first <= index && index <= function.span.last;
  });
}

LayerPattern* FirstMatch(std::vector<LayerPattern>& patterns, const std::string& name) {
  for (LayerPattern& pattern : patterns) {
    if (pattern.name.FoundIn(name)) return &pattern;
  }
  return nullptr;
}

// What is to be adapted, by node.
std::vector<AdaptedLayer> Choose(const Lowered& lowered, std::vector<LayerPattern>& patterns) {
  std::vector<AdaptedLayer> chosen;
  for (NodeId id(0); lowered.graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const std::optional<AdaptedLayer> layer = LayerOf(lowered, lowered.graph.nodes[id]);
    chosen.push_back(layer.value_or(AdaptedLayer{}));
    if (!layer || InFunction(lowered, static_cast<int32_t>(id.value()))) continue;
    LayerPattern* pattern = FirstMatch(patterns, ShownName(lowered.graph.tensors[layer->weight]));
    if (pattern == nullptr) continue;
    pattern->matched = true;
    chosen.back().lora = &pattern->wanted;
  }
  return chosen;
}

// Where each old node stands among the new ones; one place more, behind the last.
std::vector<int32_t> NewPlaces(const Lowered& lowered, const Run& run, const std::vector<AdaptedLayer>& chosen) {
  std::vector<int32_t> places = {0};
  for (NodeId id(0); lowered.graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const AdaptedLayer& layer = chosen[static_cast<size_t>(id.value())];
    const int32_t nodes = layer.lora == nullptr ? 1 : NodesOfAdapted(lowered, run, lowered.graph.nodes[id], layer);
    places.push_back(places.back() + nodes);
  }
  return places;
}

void Move(NodeSpan& span, const std::vector<int32_t>& places) {
  span.first = places[static_cast<size_t>(span.first)];
  span.last = places[static_cast<size_t>(span.last) + 1] - 1;
}

void MovePlaces(Lowered& lowered, const std::vector<int32_t>& places) {
  for (int32_t& release : lowered.releases) {
    if (release >= 0) release = places[static_cast<size_t>(release)];
  }
  for (UserFunction& function : lowered.functions) Move(function.span, places);
  for (CheckpointCall& call : lowered.checkpointed) Move(call.span, places);
}

void FreezeAll(Lowered& lowered) {
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (lowered.kinds[id] == TensorKind::kParameter) lowered.frozen.insert(id);
  }
}

absl::Status NoSuchLayer(const LayerPattern& pattern) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNoMatch,
                     absl::StrCat("--lora '", pattern.wanted.weights,
                                  "' matches the weight of no linear layer and of no "
                                  "convolution with one group"),
                     {"try: onnx-mem MODEL --by tensor -n 0   # lists the names"});
}

}  // namespace

absl::Status AddLora(Lowered& lowered, const Run& run) {
  if (run.lora.empty()) return absl::OkStatus();
  std::vector<LayerPattern> patterns;
  for (const Lora& lora : run.lora) {
    std::optional<NamePattern> name = NamePattern::Compile(lora.weights);
    if (!name) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                         absl::StrCat("--lora: '", lora.weights, "' is not a regular expression"));
    }
    patterns.push_back({lora, *std::move(name)});
  }
  const std::vector<AdaptedLayer> chosen = Choose(lowered, patterns);
  for (const LayerPattern& pattern : patterns) {
    if (!pattern.matched) return NoSuchLayer(pattern);
  }
  FreezeAll(lowered);
  const std::vector<int32_t> places = NewPlaces(lowered, run, chosen);
  MovePlaces(lowered, places);
  IdVector<NodeId, FrameworkNode> old = std::move(lowered.graph.nodes);
  lowered.graph.nodes = {};
  AdapterWriter writer(lowered, run);
  for (NodeId id(0); old.contains(id); id = NodeId(id.value() + 1)) {
    const auto index = static_cast<size_t>(id.value());
    if (chosen[index].lora == nullptr) {
      lowered.graph.nodes.Add(std::move(old[id]));
      continue;
    }
    for (FrameworkNode& node : writer.Adapted(std::move(old[id]), chosen[index], places[index])) {
      lowered.graph.nodes.Add(std::move(node));
    }
  }
  LinkTensors(lowered.graph);
  return absl::OkStatus();
}

}  // namespace onnx_mem
