// Source: peft/tuners/lora/layer.py, Linear.forward and _ConvNd.forward of PEFT 0.18:
//
//   result = self.base_layer(x)
//   x = self._cast_input_dtype(x, lora_A.weight.dtype)
//   result = result + lora_B(lora_A(dropout(x))) * scaling
//   result = result.to(torch_result_dtype)
//
// Beside a base in few bits, peft/tuners/lora/bnb.py (PackBase has made it): the sum is in the base's type, and in four
// bits the result is cloned first:
//
//   result = self.base_layer(x).clone()
//   x = self._cast_input_dtype(x, lora_A.weight.dtype)                    not under autocast
//   result = result + (lora_B(lora_A(dropout(x))) * scaling).to(result.dtype)
//
// x and result are names of that frame; what stands between is an argument of the next call, and goes when it returns.
#include "analyzer/lower/adapters/lora.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/lower/adapters/layers.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// A layer that can have an adapter.
struct AdaptedLayer {
  TensorId weight;
  TensorId x;  // as the layer is given it: a product of a record is given its rows
  bool convolution = false;
  const Lora* lora = nullptr;  // null: it has none
};

bool IsPacked(const Node& node) { return IsFourBitLinear(node) || IsEightBitLinear(node); }

// What a matrix of rows is a view of, [batch, tokens, features]; else the matrix itself.
TensorId BehindRows(const Lowered& lowered, TensorId rows) {
  const Tensor& matrix = lowered.graph.tensors[rows];
  if (matrix.shape.rank() != 2 || !matrix.producer.valid()) return rows;
  const Node& node = lowered.graph.nodes[matrix.producer];
  if (node.op != "reshape" || node.inputs.empty() || !node.inputs[0].valid()) return rows;
  const Shape& whole = lowered.graph.tensors[node.inputs[0]].shape;
  return whole.rank() > 2 && whole.dims.back() == matrix.shape.dims.back() ? node.inputs[0] : rows;
}

std::optional<AdaptedLayer> LayerOf(const Lowered& lowered, const Node& node) {
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

struct Pattern {
  const Lora& asked;
  NamePattern name;
  bool matched = false;
};

// Where types change: x for the adapter, what it gives, the sum.
struct Casts {
  bool input = false;
  bool update = false;
  bool sum = false;
};

Casts CastsOf(const Node& base, DType result_dtype, const Run& run) {
  const bool narrow = result_dtype != DType::kFloat32;
  if (!IsPacked(base)) return {.input = narrow || run.autocast, .sum = narrow};
  const bool converts = narrow && !run.autocast;
  return {.input = converts, .update = converts};
}

class AdapterWriter {
 public:
  AdapterWriter(Lowered& lowered, const Run& run) : lowered_(lowered), run_(run) {}

  // The layer's nodes with the adapter's, in the place of `base`; `place` is where `base` stands among the new nodes.
  std::vector<Node> Adapted(Node base, const AdaptedLayer& layer, int32_t place) {
    const Lora& lora = *layer.lora;
    nodes_.clear();
    place_ = place;
    like_ = base;
    const TensorId y = base.outputs[0];
    TensorId x = layer.x;
    const bool rows = x != base.inputs[0];
    const Dims x_dims = dims_of(x), y_dims = dims_of(y);
    const DType result_dtype = lowered_.graph.tensors[y].dtype;
    const std::string path(absl::StripSuffix(ShownName(lowered_.graph.tensors[layer.weight]), ".weight"));
    const size_t channel = layer.convolution ? 1 : x_dims.size() - 1;
    Dims narrow = layer.convolution ? y_dims : x_dims;
    narrow[channel] = lora.rank;
    Dims wide = layer.convolution ? y_dims : x_dims;
    wide[channel] = layer.convolution ? y_dims[channel] : y_dims.back();
    Dims a_dims{lora.rank, x_dims[channel]}, b_dims{wide[channel], lora.rank};
    if (layer.convolution) {
      const Dims kernel = dims_of(layer.weight);
      a_dims.insert(a_dims.end(), kernel.begin() + 2, kernel.end());
      b_dims.resize(kernel.size(), 1);
    }
    const TensorId a = AddParameter(absl::StrCat(path, ".lora_A.default.weight"), a_dims);
    const TensorId b = AddParameter(absl::StrCat(path, ".lora_B.default.weight"), b_dims);

    Release(y);
    const TensorId before = AddResult(absl::StrCat(path, " without adapter"), y_dims, result_dtype);
    base.outputs[0] = before;
    const Casts casts = CastsOf(base, result_dtype, run_);
    const bool cloned = IsFourBitLinear(base);
    nodes_.push_back(std::move(base));
    TensorId result = before;
    if (cloned) {
      result = Append("clone", {before}, y_dims, result_dtype, {});
      Release(before);
    }
    TensorIds held;  // by the frame, until it returns
    if (casts.input) {
      x = Append("cast", {x}, x_dims, DType::kFloat32, {});
      held.push_back(x);
    } else if (lowered_.kinds[x] == TensorKind::kActivation) {
      held.push_back(x);
    }
    TensorId t = x;
    if (lora.dropout > 0.0) {
      t = Append("dropout", {t}, x_dims, DType::kFloat32, {{"p", lora.dropout}});
    }
    t = Pass(t, x,
             layer.convolution ? Append("conv", {t, a}, narrow, DType::kFloat32, like_.attributes)
                               : Append("linear", {t, a}, narrow, DType::kFloat32, {}));
    const std::vector<int64_t> ones(a_dims.size() - 2, 1), zeros(a_dims.size() - 2, 0);
    Attributes pointwise;
    if (layer.convolution) pointwise = {{"stride", ones}, {"pad", zeros}, {"dilation", ones}, {"group", int64_t{1}}};
    t = Pass(t, x, Append(layer.convolution ? "conv" : "linear", {t, b}, wide, DType::kFloat32, pointwise));
    t = Pass(t, x, Append("mul_scalar", {t}, wide, DType::kFloat32, {}));
    if (rows) t = Pass(t, x, Append("reshape", {t}, y_dims, DType::kFloat32, {}));
    if (casts.update) t = Pass(t, x, Append("cast", {t}, y_dims, result_dtype, {}));
    if (!casts.sum) {
      AppendTo(y, "add", {result, t});
      Release(result);
      Release(t);
    } else {
      const TensorId sum = Append("add", {result, t}, y_dims, DType::kFloat32, {});
      Release(result);
      Release(t);
      AppendTo(y, "cast", {sum});
      Release(sum);
    }
    for (TensorId id : held) Release(id);
    return std::move(nodes_);
  }

 private:
  const Dims& dims_of(TensorId id) const { return lowered_.graph.tensors[id].shape.dims; }
  int32_t last() const { return place_ + static_cast<int32_t>(nodes_.size()) - 1; }

  TensorId AddTensor(std::string name, Dims dims, DType dtype, TensorKind kind) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = dtype;
    tensor.shape = Shape(std::move(dims));
    tensor.role = kind == TensorKind::kParameter ? TensorRole::kInitializer : TensorRole::kActivation;
    lowered_.kinds.Add(kind);
    lowered_.releases.Add(-1);
    return lowered_.graph.tensors.Add(std::move(tensor));
  }

  TensorId AddParameter(std::string name, const Dims& dims) {
    const TensorId id = AddTensor(std::move(name), dims, DType::kFloat32, TensorKind::kParameter);
    lowered_.graph.initializers.push_back(id);
    return id;
  }

  TensorId AddResult(std::string name, const Dims& dims, DType dtype) {
    return AddTensor(std::move(name), dims, dtype, TensorKind::kActivation);
  }

  void AppendTo(TensorId result, std::string_view op, TensorIds inputs, Attributes attributes = {}) {
    Node node;
    node.op = op;
    node.name = absl::StrCat(like_.name, ".lora.", nodes_.size());
    node.module = like_.module;
    node.calls = like_.calls;
    node.inputs = std::move(inputs);
    node.outputs = {result};
    node.attributes = std::move(attributes);
    node.attributes.erase("inplace");
    if (IntAttribute(like_, "requires_grad_none", 0) != 0) node.attributes["requires_grad_none"] = int64_t{1};
    nodes_.push_back(std::move(node));
  }

  TensorId Append(std::string_view op, TensorIds inputs, const Dims& dims, DType dtype, Attributes attributes) {
    const TensorId id = AddResult(absl::StrCat(like_.name, ".lora.", nodes_.size()), dims, dtype);
    AppendTo(id, op, std::move(inputs), std::move(attributes));
    return id;
  }

  // `argument` goes with the call that gave `result`, unless it is the frame's x.
  TensorId Pass(TensorId argument, TensorId x, TensorId result) {
    if (argument != x) Release(argument);
    return result;
  }

  // Not before the node that was added last.
  void Release(TensorId id) { lowered_.releases[id] = std::max(lowered_.releases[id], last()); }

  Lowered& lowered_;
  const Run& run_;
  std::vector<Node> nodes_;
  Node like_;  // the layer's own
  int32_t place_ = 0;
};

bool InFunction(const Lowered& lowered, int32_t index) {
  return std::any_of(lowered.functions.begin(), lowered.functions.end(), [&](const UserFunction& function) {
    return function.span.first <= index && index <= function.span.last;
  });
}

Pattern* FirstMatch(std::vector<Pattern>& patterns, const std::string& name) {
  for (Pattern& pattern : patterns) {
    if (pattern.name.FoundIn(name)) return &pattern;
  }
  return nullptr;
}

// What is to be adapted, by node.
std::vector<AdaptedLayer> Choose(const Lowered& lowered, std::vector<Pattern>& patterns) {
  std::vector<AdaptedLayer> chosen;
  for (NodeId id(0); lowered.graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const std::optional<AdaptedLayer> layer = LayerOf(lowered, lowered.graph.nodes[id]);
    chosen.push_back(layer.value_or(AdaptedLayer{}));
    if (!layer || InFunction(lowered, static_cast<int32_t>(id.value()))) continue;
    Pattern* pattern = FirstMatch(patterns, ShownName(lowered.graph.tensors[layer->weight]));
    if (pattern == nullptr) continue;
    pattern->matched = true;
    chosen.back().lora = &pattern->asked;
  }
  return chosen;
}

constexpr int32_t kNodesOfAdapter = 4;  // A, B, scaling, sum; besides a dropout and casts

// Where each old node stands among the new ones; one place more, behind the last.
std::vector<int32_t> NewPlaces(const Lowered& lowered, const Run& run, const std::vector<AdaptedLayer>& chosen) {
  std::vector<int32_t> places = {0};
  for (NodeId id(0); lowered.graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Lora* lora = chosen[static_cast<size_t>(id.value())].lora;
    int32_t nodes = 1;
    if (lora != nullptr) {
      const Node& node = lowered.graph.nodes[id];
      const Casts casts = CastsOf(node, lowered.graph.tensors[node.outputs[0]].dtype, run);
      nodes += kNodesOfAdapter;
      nodes += lora->dropout > 0.0 ? 1 : 0;
      nodes += chosen[static_cast<size_t>(id.value())].x != node.inputs[0] ? 1 : 0;
      nodes += IsFourBitLinear(node) ? 1 : 0;
      nodes += static_cast<int32_t>(casts.input) + static_cast<int32_t>(casts.update) + static_cast<int32_t>(casts.sum);
    }
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

absl::Status NoSuchLayer(const Pattern& pattern) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNoMatch,
                     absl::StrCat("--lora '", pattern.asked.weights,
                                  "' matches the weight of no linear layer and of no "
                                  "convolution with one group"),
                     {"try: onnx-mem MODEL --by tensor -n 0   # lists the names"});
}

}  // namespace

absl::Status AddLora(Lowered& lowered, const Run& run) {
  if (run.lora.empty()) return absl::OkStatus();
  std::vector<Pattern> patterns;
  for (const Lora& lora : run.lora) {
    std::optional<NamePattern> name = NamePattern::Compile(lora.weights);
    if (!name) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                         absl::StrCat("--lora: '", lora.weights, "' is not a regular expression"));
    }
    patterns.push_back({lora, *std::move(name)});
  }
  const std::vector<AdaptedLayer> chosen = Choose(lowered, patterns);
  for (const Pattern& pattern : patterns) {
    if (!pattern.matched) return NoSuchLayer(pattern);
  }
  FreezeAll(lowered);
  const std::vector<int32_t> places = NewPlaces(lowered, run, chosen);
  MovePlaces(lowered, places);
  IdVector<NodeId, Node> old = std::move(lowered.graph.nodes);
  lowered.graph.nodes = {};
  AdapterWriter writer(lowered, run);
  for (NodeId id(0); old.contains(id); id = NodeId(id.value() + 1)) {
    const auto index = static_cast<size_t>(id.value());
    if (chosen[index].lora == nullptr) {
      lowered.graph.nodes.Add(std::move(old[id]));
      continue;
    }
    for (Node& node : writer.Adapted(std::move(old[id]), chosen[index], places[index])) {
      lowered.graph.nodes.Add(std::move(node));
    }
  }
  LinkTensors(lowered.graph);
  return absl::OkStatus();
}

}  // namespace onnx_mem
