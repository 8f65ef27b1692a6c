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
// x and result are names of that frame; what stands between is an argument of the next call, and is released when that
// returns.
#include "analyzer/lower/adapters/lora_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/lower/adapters/layers.h"

namespace onnx_mem {
namespace {

constexpr int32_t kNodesOfAdapter = 4;  // A, B, scaling, sum; besides a dropout and casts

// Where types change: x for the adapter, what it gives, the sum.
struct Casts {
  bool input = false;
  bool update = false;
  bool sum = false;
};

Casts CastsOf(const FrameworkNode& base, DType result_dtype, const Run& run) {
  const bool narrow = result_dtype != DType::kFloat32;
  if (!IsPacked(base)) return {.input = narrow || run.autocast, .sum = narrow};
  const bool converts = narrow && !run.autocast;
  return {.input = converts, .update = converts};
}

}  // namespace

bool IsPacked(const FrameworkNode& node) { return IsFourBitLinear(node) || IsEightBitLinear(node); }

int32_t NodesOfAdapted(const Lowered& lowered, const Run& run, const FrameworkNode& base, const AdaptedLayer& layer) {
  const Casts casts = CastsOf(base, lowered.graph.tensors[base.outputs[0]].dtype, run);
  return 1 + kNodesOfAdapter + int32_t{layer.lora->dropout > 0.0} + int32_t{layer.x != base.inputs[0]} +
         int32_t{IsFourBitLinear(base)} + int32_t{casts.input} + int32_t{casts.update} + int32_t{casts.sum};
}

struct AdapterWriter::Sizes {
  Dims x, y;
  Dims a, b;          // the adapter's weights
  Dims narrow, wide;  // what each of them gives
  bool rows = false;  // the layer is given rows of x, and gives rows
};

AdapterWriter::Sizes AdapterWriter::SizesOf(const FrameworkNode& base, const AdaptedLayer& layer) const {
  Sizes sizes;
  sizes.x = dims_of(layer.x);
  sizes.y = dims_of(base.outputs[0]);
  sizes.rows = layer.x != base.inputs[0];
  const size_t channel = layer.convolution ? 1 : sizes.x.size() - 1;
  sizes.narrow = sizes.wide = layer.convolution ? sizes.y : sizes.x;
  sizes.narrow[channel] = layer.lora->rank;
  sizes.wide[channel] = layer.convolution ? sizes.y[channel] : sizes.y.back();
  sizes.a = {layer.lora->rank, sizes.x[channel]};
  sizes.b = {sizes.wide[channel], layer.lora->rank};
  if (layer.convolution) {
    const Dims kernel = dims_of(layer.weight);
    sizes.a.insert(sizes.a.end(), kernel.begin() + 2, kernel.end());
    sizes.b.resize(kernel.size(), 1);
  }
  return sizes;
}

std::vector<FrameworkNode> AdapterWriter::Adapted(FrameworkNode base, const AdaptedLayer& layer, int32_t place) {
  nodes_.clear();
  place_ = place;
  like_ = base;
  const TensorId y = base.outputs[0];
  const Sizes sizes = SizesOf(base, layer);
  const DType result_dtype = lowered_.graph.tensors[y].dtype;
  const Casts casts = CastsOf(base, result_dtype, run_);
  const std::string path(absl::StripSuffix(ShownName(lowered_.graph.tensors[layer.weight]), ".weight"));
  const TensorId a = AddParameter(absl::StrCat(path, ".lora_A.default.weight"), sizes.a);
  const TensorId b = AddParameter(absl::StrCat(path, ".lora_B.default.weight"), sizes.b);
  const TensorId result = RunBase(std::move(base), path, result_dtype);
  const TensorId x =
      casts.input ? Append("cast", {layer.x}, sizes.x, DType::kFloat32, {}) : layer.x;  // the frame's until it returns
  TensorId update = Update(layer, sizes, x, a, b);
  if (casts.update) update = Pass(update, x, Append("cast", {update}, sizes.y, result_dtype, {}));
  AddUp(y, result, update, /*in_float32=*/casts.sum);
  if (lowered_.kinds[x] == TensorKind::kActivation) Release(x);
  return std::move(nodes_);
}

// result = self.base_layer(x), cloned in four bits.
TensorId AdapterWriter::RunBase(FrameworkNode base, std::string_view path, DType result_dtype) {
  const TensorId y = base.outputs[0];
  const Dims dims = dims_of(y);
  Release(y);
  const TensorId before = AddResult(absl::StrCat(View(path), " without adapter"), dims, result_dtype);
  base.outputs[0] = before;
  const bool cloned = IsFourBitLinear(base);
  nodes_.push_back(std::move(base));
  if (!cloned) return before;
  const TensorId result = Append("clone", {before}, dims, result_dtype, {});
  Release(before);
  return result;
}

// lora_B(lora_A(dropout(x))) * scaling
TensorId AdapterWriter::Update(const AdaptedLayer& layer, const Sizes& sizes, TensorId x, TensorId a, TensorId b) {
  const std::string_view op = layer.convolution ? "conv" : "linear";
  const std::vector<int64_t> ones(sizes.a.size() - 2, 1), zeros(sizes.a.size() - 2, 0);
  Attributes pointwise;
  if (layer.convolution) pointwise = {{"stride", ones}, {"pad", zeros}, {"dilation", ones}, {"group", int64_t{1}}};
  TensorId t = x;
  if (layer.lora->dropout > 0.0) {
    t = Append("dropout", {t}, sizes.x, DType::kFloat32, {{"p", layer.lora->dropout}});
  }
  const Attributes of_layer = layer.convolution ? like_.attributes : Attributes();
  t = Pass(t, x, Append(op, {t, a}, sizes.narrow, DType::kFloat32, of_layer));
  t = Pass(t, x, Append(op, {t, b}, sizes.wide, DType::kFloat32, pointwise));
  t = Pass(t, x, Append("mul_scalar", {t}, sizes.wide, DType::kFloat32, {}));
  return sizes.rows ? Pass(t, x, Append("reshape", {t}, sizes.y, DType::kFloat32, {})) : t;
}

// y = result + update, in float32 and cast where the layer gives another type.
void AdapterWriter::AddUp(TensorId y, TensorId result, TensorId update, bool in_float32) {
  const TensorId sum = in_float32 ? Append("add", {result, update}, dims_of(y), DType::kFloat32, {}) : y;
  if (!in_float32) AppendTo(y, "add", {result, update});
  Release(result);
  Release(update);
  if (!in_float32) return;
  AppendTo(y, "cast", {sum});
  Release(sum);
}

TensorId AdapterWriter::AddTensor(std::string name, Dims dims, DType dtype, TensorKind kind) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.shape = Shape(std::move(dims));
  tensor.role = kind == TensorKind::kParameter ? TensorRole::kInitializer : TensorRole::kActivation;
  lowered_.kinds.Add(kind);
  lowered_.releases.Add(-1);
  return lowered_.graph.tensors.Add(std::move(tensor));
}

TensorId AdapterWriter::AddParameter(std::string name, const Dims& dims) {
  const TensorId id = AddTensor(std::move(name), dims, DType::kFloat32, TensorKind::kParameter);
  lowered_.graph.initializers.push_back(id);
  return id;
}

TensorId AdapterWriter::AddResult(std::string name, const Dims& dims, DType dtype) {
  return AddTensor(std::move(name), dims, dtype, TensorKind::kActivation);
}

void AdapterWriter::AppendTo(TensorId result, std::string_view op, TensorIds inputs, Attributes attributes) {
  FrameworkNode node;
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

TensorId AdapterWriter::Append(std::string_view op, TensorIds inputs, const Dims& dims, DType dtype,
                               Attributes attributes) {
  const TensorId id = AddResult(absl::StrCat(like_.name, ".lora.", nodes_.size()), dims, dtype);
  AppendTo(id, op, std::move(inputs), std::move(attributes));
  return id;
}

TensorId AdapterWriter::Pass(TensorId argument, TensorId x, TensorId result) {
  if (argument != x) Release(argument);
  return result;
}

}  // namespace onnx_mem
