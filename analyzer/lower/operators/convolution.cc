// Convolutions: the framework's attributes are lists with one entry per spatial dimension.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/lower/facts/exporter_rules.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

std::vector<int64_t> PerDimension(const Site& s, std::string_view name, size_t spatial, int64_t fallback) {
  std::vector<int64_t> values = s.IntList(name);
  if (values.size() < spatial) values.assign(spatial, fallback);
  return values;
}

// A bias that the exporter made up (zeros expanded to the weight's shape) is no bias.
TensorId Bias(Site& s, size_t slot) {
  const TensorId stored = s.Stored(slot);
  if (stored.valid() || !s.Has(slot)) return stored;
  const Tensor& tensor = s.source().tensors[s.node().inputs[slot]];
  const auto values = s.Floats(slot);
  const bool made_up = tensor.producer.valid() && s.source().nodes[tensor.producer].op == "Expand";
  if (made_up || (values && tensor.role == TensorRole::kActivation)) return TensorId();
  return s.Materialized(slot);
}

// What an earlier pad made of `x`, if it padded as `pads` says: code that pads for a convolution and a pooling
// (HGNetV2) did it once. Invalid if there is none.
TensorId PaddedBefore(Site& s, TensorId x, size_t spatial, const std::vector<int64_t>& pads) {
  const size_t rank = s.InRank(0);
  std::vector<int64_t> whole(2 * rank, 0);
  std::copy_n(pads.begin(), spatial, whole.begin() + static_cast<int64_t>(rank - spatial));
  std::copy_n(pads.begin() + static_cast<int64_t>(spatial), spatial, whole.end() - static_cast<int64_t>(spatial));
  for (NodeId reader : s.draft().readers(x)) {
    const FrameworkNode& node = s.draft().node(reader);
    if (node.op == "pad" && IntsAttribute(node, "pads") == whole && StringAttribute(node, "mode", "") == "constant") {
      return node.outputs[0];
    }
  }
  return TensorId();
}

// Padding of the convolution itself where dynamo's optimizer folded a pad before it into it (onnxscript,
// _fuse_pad_into_conv.py): an argument of the call that the node became of, `[1, 1]`. Code that pads for a convolution
// lets it pad no more, which is taken for one that carries the call of its norm.
std::vector<int64_t> PaddingOfCall(const Site& s, size_t spatial) {
  constexpr size_t kPadding = 4;  // aten::conv2d(input, weight, bias, stride, padding, ...)
  std::vector<int64_t> padding(spatial, 0);
  const FxCall call = FxCallOf(s.node());
  if (!absl::StartsWith(call.target, "aten.conv") || call.args.size() <= kPadding) return padding;
  const std::string& text = call.args[kPadding];
  if (text.size() < 2 || text.front() != '[') return padding;
  const std::vector<std::string> numbers = absl::StrSplit(text.substr(1, text.size() - 2), ", ");
  for (size_t i = 0; i < spatial; ++i) {
    if (!absl::SimpleAtoi(numbers[std::min(i, numbers.size() - 1)], &padding[i]))
      return std::vector<int64_t>(spatial, 0);
  }
  return padding;
}

// The framework's convolution pads both sides alike. Sides that differ were a pad of its own (TensorFlow's "same"),
// which dynamo's optimizer folds into the convolution, as it does with a pad of sides that are alike, by its word.
// `pads` is left with what the convolution pads. Gives the padded input.
TensorId PaddedApart(Site& s, size_t spatial, std::vector<int64_t>& pads) {
  const TensorId x = s.Materialized(0);
  const Shape& shape = s.InShape(0);
  const bool differ = !std::equal(pads.begin(), pads.begin() + static_cast<int64_t>(spatial),
                                  pads.end() - static_cast<int64_t>(spatial));
  const bool fused = HasRule(s.node(), "FuseConvPad");
  if (!shape.known() || (!differ && !fused)) return x;
  std::vector<int64_t> own(2 * spatial, 0);
  if (fused) {
    const std::vector<int64_t> padding = PaddingOfCall(s, spatial);
    for (size_t i = 0; i < 2 * spatial; ++i) own[i] = std::min(padding[i % spatial], pads[i]);
  }
  std::vector<int64_t> apart = std::exchange(pads, own);
  for (size_t i = 0; i < 2 * spatial; ++i) apart[i] -= own[i];
  if (std::all_of(apart.begin(), apart.end(), [](int64_t p) { return p == 0; })) return x;
  if (const TensorId padded = PaddedBefore(s, x, spatial, apart); padded.valid()) return padded;
  Dims dims = shape.dims;
  for (size_t i = 0; i < spatial; ++i) dims[dims.size() - spatial + i] += apart[i] + apart[spatial + i];
  return s.EmitTemp("pad", {x}, dims, s.InType(0), {{"mode", std::string("constant")}});
}

}  // namespace

void LowerConv(Site& s) {
  const size_t spatial = s.InRank(1) > 2 ? s.InRank(1) - 2 : 0;
  const TensorId stored = s.Stored(1);
  std::vector<int64_t> pads = PerDimension(s, "pads", 2 * spatial, 0);
  const TensorId x = PaddedApart(s, spatial, pads);
  TensorIds inputs = {x, stored.valid() ? stored : s.Materialized(1)};
  if (const TensorId bias = Bias(s, 2); bias.valid()) inputs.push_back(bias);
  s.Emit("conv", std::move(inputs), {s.Out(0)},
         {{"stride", PerDimension(s, "strides", spatial, 1)},
          {"pad", std::vector<int64_t>(pads.begin(), pads.begin() + static_cast<int64_t>(spatial))},
          {"dilation", PerDimension(s, "dilations", spatial, 1)},
          {"group", s.Int("group", 1)}});
}

void LowerConvTranspose(Site& s) {
  const size_t spatial = s.InRank(1) > 2 ? s.InRank(1) - 2 : 0;
  const TensorId stored = s.Stored(1);
  TensorIds inputs = {s.Materialized(0), stored.valid() ? stored : s.Materialized(1)};
  if (const TensorId bias = Bias(s, 2); bias.valid()) inputs.push_back(bias);
  s.Emit("conv_transpose", std::move(inputs), {s.Out(0)},
         {{"stride", PerDimension(s, "strides", spatial, 1)},
          {"dilation", PerDimension(s, "dilations", spatial, 1)},
          {"group", s.Int("group", 1)}});
}

// torchvision's deform_conv2d; its columns are workspace.
void LowerDeformConv(Site& s) {
  const TensorId stored = s.Stored(1);
  TensorIds inputs = {s.Materialized(0), stored.valid() ? stored : s.Materialized(1), s.Materialized(2)};
  for (size_t slot : {3, 4}) inputs.push_back(s.Has(slot) ? s.Materialized(slot) : TensorId());
  s.Emit("deform_conv", std::move(inputs), {s.Out(0)});
}

// Mamba's and Gated DeltaNet's short convolution as their code runs it without a kernel of its own: the state, or
// zeros, before the tokens, a convolution of each channel, SiLU. The new state is a view of what was joined.
void LowerCausalConv(Site& s) {
  const Dims dims = s.InShape(0).dims;
  const DType dtype = s.InType(0);
  if (dims.size() != 3 || s.InRank(1) != 3) return s.Assume();
  const int64_t before = s.InDim(1, 2) - 1;
  const Dims joined_dims = {dims[0], dims[1], dims[2] + before};
  const TensorId joined =
      s.Has(3) ? s.EmitTemp("cat", {s.Materialized(3), s.Materialized(0)}, joined_dims, dtype, {{"axis", int64_t{2}}})
               : s.EmitTemp("pad", {s.Materialized(0)}, joined_dims, dtype, {{"mode", std::string("constant")}});
  TensorIds inputs = {joined, s.Materialized(1)};
  if (s.Has(2)) inputs.push_back(s.Materialized(2));
  const std::vector<int64_t> one = {1};
  const bool gated = s.String("activation", "none") != "none";
  const TensorId convolved = gated ? s.Temp(dims, dtype) : s.Out(0);
  s.Emit("conv", std::move(inputs), {convolved},
         {{"stride", one}, {"pad", std::vector<int64_t>{0}}, {"dilation", one}, {"group", dims[1]}});
  if (gated) s.Emit("silu", {convolved}, {s.Out(0)});
  if (!s.OutUsed(1)) return;
  s.Emit("slice", {joined}, {s.Out(1)},
         {{"axes", std::vector<int64_t>{2}},
          {"starts", std::vector<int64_t>{dims[2]}},
          {"ends", std::vector<int64_t>{dims[2] + before}},
          {"steps", one}});
}

}  // namespace onnx_mem
