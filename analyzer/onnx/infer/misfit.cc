#include "analyzer/onnx/infer/misfit.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/rules/einsum.h"
#include "analyzer/onnx/rules/rule.h"

namespace onnx_mem {
namespace {

using fold::FoldCall;
using rules::DimOf;
using rules::ShapeOf;

// "WHAT: A and B" where both are known and differ.
std::string Different(const char* what, int64_t a, int64_t b) {
  return a >= 0 && b >= 0 && a != b ? absl::StrCat(what, ": ", a, " and ", b) : std::string();
}

std::string MatMul(const FoldCall& call) {
  const Shape b = ShapeOf(call, 1);
  if (b.rank() == 0) return {};
  return Different("inner sizes differ", DimOf(call, 0, -1), DimOf(call, 1, b.rank() == 1 ? 0 : -2));
}

std::string Gemm(const FoldCall& call) {
  const int64_t a = DimOf(call, 0, call.int_attribute("transA", 0) != 0 ? 0 : 1);
  return Different("inner sizes differ", a, DimOf(call, 1, call.int_attribute("transB", 0) != 0 ? 1 : 0));
}

// Weights [M,C/group,...] at input `w`.
std::string ConvWith(const FoldCall& call, size_t w) {
  const int64_t group = call.int_attribute("group", 1);
  if (group < 1) return absl::StrCat("group is ", group);
  const Shape x = ShapeOf(call, 0);
  const Shape weights = ShapeOf(call, w);
  if (x.has_rank && weights.has_rank && x.rank() != weights.rank()) {
    return Different("ranks of input and weights differ", static_cast<int64_t>(x.rank()),
                     static_cast<int64_t>(weights.rank()));
  }
  std::string channels =
      Different("channels of input and weights differ", DimOf(call, 0, 1), rules::Times(DimOf(call, w, 1), group));
  if (channels.empty() && DimOf(call, w, 0) % group > 0) {
    channels = absl::StrCat(DimOf(call, w, 0), " output channels do not divide into ", group, " groups");
  }
  return channels;
}

std::string Conv(const FoldCall& call) { return ConvWith(call, 1); }
std::string QLinearConv(const FoldCall& call) { return ConvWith(call, 3); }

// Weights [C,M/group,...].
std::string ConvTranspose(const FoldCall& call) {
  return Different("channels of input and weights differ", DimOf(call, 0, 1), DimOf(call, 1, 0));
}

std::string InstanceNormalization(const FoldCall& call) {
  return Different("channels of input and scale differ", DimOf(call, 0, 1), DimOf(call, 1, 0));
}

std::string LayerNormalization(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  const Shape scale = ShapeOf(call, 1);
  for (size_t i = 1; i <= std::min(x.rank(), scale.rank()); ++i) {
    const int64_t dim = scale.dims[scale.rank() - i];
    if (dim == 1) continue;
    std::string fault = Different("sizes of input and scale differ", x.dims[x.rank() - i], dim);
    if (!fault.empty()) return fault;
  }
  return {};
}

std::string GroupNormalization(const FoldCall& call) {
  const int64_t groups = call.int_attribute("num_groups", 1);
  const int64_t channels = DimOf(call, 0, 1);
  if (groups < 1 || channels < 0 || channels % groups == 0) return {};
  return absl::StrCat(channels, " channels do not divide into ", groups, " groups");
}

// LSTM, GRU, RNN: x [length,batch,features], w [directions,gates*hidden,features], r [directions,gates*hidden,hidden].
std::string Recurrent(const FoldCall& call, int64_t gates) {
  constexpr size_t kRank = 3;
  for (size_t i = 0; i < kRank; ++i) {
    const Shape shape = ShapeOf(call, i);
    if (shape.has_rank && shape.rank() != kRank)
      return absl::StrCat("input ", i, " has ", shape.rank(), " dimensions instead of 3");
  }
  if (DimOf(call, 0, call.int_attribute("layout", 0) != 0 ? 1 : 0) == 0) return "the sequence has no elements";
  const int64_t hidden = call.int_attribute("hidden_size", DimOf(call, 2, 2));
  std::string fault = Different("hidden_size and size of the recurrent weights differ", hidden, DimOf(call, 2, 2));
  if (!fault.empty()) return fault;
  for (size_t i = 1; i < kRank; ++i) {
    fault = Different("rows of weights and of all gates differ", DimOf(call, i, 1), rules::Times(gates, hidden));
    if (!fault.empty()) return fault;
  }
  return Different("features of input and weights differ", DimOf(call, 0, 2), DimOf(call, 1, 2));
}

std::string Rnn(const FoldCall& call) { return Recurrent(call, 1); }
std::string Gru(const FoldCall& call) { return Recurrent(call, 3); }
std::string Lstm(const FoldCall& call) { return Recurrent(call, 4); }

// data, indices [..., depth]: a position in `depth` of the data's dimensions behind the batch.
std::string GatherNd(const FoldCall& call) {
  const Shape data = ShapeOf(call, 0), indices = ShapeOf(call, 1);
  if (!data.has_rank || !indices.has_rank) return {};
  const auto data_rank = static_cast<int64_t>(data.rank()), indices_rank = static_cast<int64_t>(indices.rank());
  const int64_t batch = call.int_attribute("batch_dims", 0);
  if (indices_rank == 0 || batch < 0 || batch >= std::min(data_rank, indices_rank)) {
    return absl::StrCat("batch_dims is ", batch, " for data of ", data_rank, " and indices of ", indices_rank,
                        " dimensions");
  }
  const int64_t depth = DimOf(call, 1, -1);
  if (depth < 0 || (depth >= 1 && depth <= data_rank - batch)) return {};
  return absl::StrCat("positions have ", depth, " numbers for data of ", data_rank - batch, " dimensions");
}

std::string DepthToSpace(const FoldCall& call) {
  const int64_t block = call.int_attribute("blocksize", 1);
  if (block < 1 || block > 1 << 15) return absl::StrCat("blocksize is ", block);
  const int64_t channels = DimOf(call, 0, 1);
  if (channels < 0 || channels % (block * block) == 0) return {};
  return absl::StrCat(channels, " channels do not divide into blocks of ", block * block);
}

struct InputRow {
  std::string_view op;
  InputCheck check;
};

constexpr auto kInputs = std::to_array<InputRow>({
    {"Conv", Conv},
    {"ConvInteger", Conv},
    {"ConvTranspose", ConvTranspose},
    {"DepthToSpace", DepthToSpace},
    {"Einsum", rules::EinsumFault},
    {"GRU", Gru},
    {"GatherND", GatherNd},
    {"Gemm", Gemm},
    {"GroupNormalization", GroupNormalization},
    {"InstanceNormalization", InstanceNormalization},
    {"LSTM", Lstm},
    {"LayerNormalization", LayerNormalization},
    {"MatMul", MatMul},
    {"MatMulInteger", MatMul},
    {"QLinearConv", QLinearConv},
    {"RNN", Rnn},
});

// A window that is larger than what it slides over gives no element.
std::string Sliding(const FoldCall& call, const Shape& output) {
  for (size_t i = 2; i < output.rank(); ++i) {
    if (output.dims[i] == 0 && DimOf(call, 0, static_cast<int64_t>(i)) > 0) {
      return absl::StrCat("the window is larger than the input (", ToString(ShapeOf(call, 0)), ") and its padding");
    }
  }
  return {};
}

std::string Reshape(const FoldCall& call, const Shape& output) {
  const std::optional<int64_t> before = NumElements(ShapeOf(call, 0));
  const std::optional<int64_t> after = NumElements(output);
  if (!before || !after || *before == *after) return {};
  return absl::StrCat("cannot reshape ", *before, " elements to ", ToString(output));
}

struct OutputRow {
  std::string_view op;
  OutputCheck check;
};

constexpr auto kOutputs = std::to_array<OutputRow>({
    {"AveragePool", Sliding},
    {"Conv", Sliding},
    {"ConvInteger", Sliding},
    {"LpPool", Sliding},
    {"MaxPool", Sliding},
    {"QLinearConv", Sliding},
    {"Reshape", Reshape},
});

}  // namespace

std::string AxisFault(const onnx::NodeProto& node, int version, const Shape& first) {
  if (!first.has_rank) return {};
  const std::string_view op = node.op_type();
  // One more than the rank: where an axis may be put behind the last one, or what is behind it is empty.
  const bool behind =
      op == "Flatten" || op == "OneHot" || (version < 13 && (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax"));
  // With one scale for the whole tensor there is no axis to point at.
  if (op == "QuantizeLinear" || op == "DequantizeLinear") return {};
  const auto rank = static_cast<int64_t>(first.rank());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    const bool one = name == "axis" || name == "batch_axis" || name == "time_axis";
    if (!one && name != "axes") continue;
    const int64_t axes = op == "Unsqueeze" ? rank + attribute.ints_size() : std::max<int64_t>(rank, 1);
    const auto fault = [&](int64_t axis) {
      return axis >= -axes - (op == "OneHot" ? 1 : 0) && axis < axes + (behind ? 1 : 0)
                 ? std::string()
                 : absl::StrCat(name, " is ", axis, " for ", rank, " dimensions");
    };
    std::string text = one && attribute.type() == onnx::AttributeProto::INT ? fault(attribute.i()) : std::string();
    for (int i = 0; text.empty() && i < attribute.ints_size(); ++i) text = fault(attribute.ints(i));
    if (!text.empty()) return text;
  }
  return {};
}

InputCheck FindInputCheck(std::string_view op) {
  const auto row = std::find_if(kInputs.begin(), kInputs.end(), [op](const InputRow& r) { return r.op == op; });
  return row != kInputs.end() ? row->check : nullptr;
}

OutputCheck FindOutputCheck(std::string_view op) {
  const auto row = std::find_if(kOutputs.begin(), kOutputs.end(), [op](const OutputRow& r) { return r.op == op; });
  return row != kOutputs.end() ? row->check : nullptr;
}

}  // namespace onnx_mem
