// com.microsoft: activations, norms, matrix products and quantized operators that onnxruntime's graph
// optimizer writes. LayerNormalization and SimplifiedLayerNormalization stand in the default domain there.
#include <algorithm>
#include <array>

#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

constexpr int kUInt8 = onnx::TensorProto::UINT8;

// Output, and statistics with one value where `axis` and all after it were normalized.
Results LayerNorm(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  Shape statistics = x;
  if (std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", -1), x.rank())) {
    for (size_t i = *axis; i < statistics.rank(); ++i) statistics.dims[i] = 1;
  }
  const auto type = static_cast<int>(call.int_attribute("stash_type", kFloat));
  return {{TypeOf(call, 0), x}, {type, statistics}, {type, statistics}};
}

// Output and the sum that was normalized.
Results SkipGroupNorm(const FoldCall& call) {
  return {{TypeOf(call, 0), ShapeOf(call, 0)}, {TypeOf(call, 0), ShapeOf(call, 0)}};
}

Results BiasDropout(const FoldCall& call) {
  return {{TypeOf(call, 0), ShapeOf(call, 0)}, {onnx::TensorProto::BOOL, ShapeOf(call, 0)}};
}

// Half of the last axis gates the other half.
Results BiasSplitGelu(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  if (!x.dims.empty()) x.dims.back() = Over(x.dims.back(), 2);
  return {{TypeOf(call, 0), x}};
}

Shape Transposed(Shape x, bool last_two, bool batch) {
  // transBatch moves the first axis behind the other batch axes: [b0,...,bk,m,n] is stored as [...,m,b0,n]-like.
  if (x.rank() >= 2 && batch) {
    const int64_t first = x.dims.front();
    x.dims.erase(x.dims.begin());
    x.dims.insert(x.dims.end() - 1, first);
  }
  if (x.rank() >= 2 && last_two) std::swap(x.dims[x.rank() - 1], x.dims[x.rank() - 2]);
  return x;
}

Results FusedMatMul(const FoldCall& call) {
  const auto flag = [&call](std::string_view name) { return call.int_attribute(name, 0) != 0; };
  return {{TypeOf(call, 0), MatrixProduct(Transposed(ShapeOf(call, 0), flag("transA"), flag("transBatchA")),
                                          Transposed(ShapeOf(call, 1), flag("transB"), flag("transBatchB")))}};
}

Results ProductOf(const FoldCall& call, size_t a, size_t b, int type) {
  return {{type, MatrixProduct(ShapeOf(call, a), ShapeOf(call, b))}};
}

Results DynamicQuantizeMatMul(const FoldCall& call) { return ProductOf(call, 0, 1, kFloat); }
Results MatMulInteger16(const FoldCall& call) { return ProductOf(call, 0, 1, kInt32); }
Results MatMulIntegerToFloat(const FoldCall& call) { return ProductOf(call, 0, 1, TypeOf(call, 2)); }

// Weights in blocks of 4 or 8 bits: only the attributes K and N tell their size.
Results MatMulNBits(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  if (!x.dims.empty()) x.dims.back() = call.int_attribute("N", kUnknownDim);
  return {{TypeOf(call, 0), x}};
}

Results GemmAt(const FoldCall& call, size_t a, size_t b, int type) {
  const bool trans_a = call.int_attribute("transA", 0) != 0;
  const bool trans_b = call.int_attribute("transB", 0) != 0;
  return {{type, Shape({DimOf(call, a, trans_a ? 1 : 0), DimOf(call, b, trans_b ? 0 : 1)})}};
}

Results FusedGemm(const FoldCall& call) { return GemmAt(call, 0, 1, TypeOf(call, 0)); }

// a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero; without an output scale the result is float.
Results QGemm(const FoldCall& call) { return GemmAt(call, 0, 3, call.has(7) ? TypeOf(call, 0) : kFloat); }

// a, a_scale, a_zero, b, b_scale, b_zero, ...
Results QLinearBinary(const FoldCall& call) {
  return {{TypeOf(call, 0), Broadcast(ShapeOf(call, 0), ShapeOf(call, 3))}};
}

// y_scale, y_zero, then (tensor, scale, zero) for every part.
Results QLinearConcat(const FoldCall& call) {
  Shape out = ShapeOf(call, 2);
  std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", 0), out.rank());
  if (!axis) return {{TypeOf(call, 2), Shape()}};
  for (size_t i = 5; i < call.num_inputs(); i += 3) {
    out.dims[*axis] = Plus(out.dims[*axis], DimOf(call, i, static_cast<int64_t>(*axis)));
  }
  return {{TypeOf(call, 2), out}};
}

Results QLinearReduceMean(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  const bool keep = call.int_attribute("keepdims", 1) != 0;
  const Dims axes = IntsOf(call, "axes");
  std::vector<bool> reduced(x.rank(), axes.empty());
  for (int64_t raw : axes) {
    if (std::optional<size_t> axis = fold::NormalAxis(raw, x.rank())) reduced[*axis] = true;
  }
  Shape out = x;
  out.dims.clear();
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) out.dims.push_back(x.dims[i]);
    if (reduced[i] && keep) out.dims.push_back(1);
  }
  return {{TypeOf(call, 0), out}};
}

// condition, x, x_scale, x_zero, y, ...
Results QLinearWhere(const FoldCall& call) {
  return {{TypeOf(call, 1), Broadcast(ShapeOf(call, 0), Broadcast(ShapeOf(call, 1), ShapeOf(call, 4)))}};
}

Results Quantize(const FoldCall& call) { return {{call.has(2) ? TypeOf(call, 2) : kUInt8, ShapeOf(call, 0)}}; }
Results Dequantize(const FoldCall& call) { return {{TypeOf(call, 1), ShapeOf(call, 0)}}; }

// A new axis of length 1 where the scalar input says.
Results ExpandDims(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  std::optional<int64_t> axis = call.scalar(1);
  if (!x.has_rank || !axis) return {{TypeOf(call, 0), Shape()}};
  std::optional<size_t> at = fold::NormalAxis(*axis, x.rank() + 1);
  if (!at) return {{TypeOf(call, 0), Shape()}};
  x.dims.insert(x.dims.begin() + static_cast<int64_t>(*at), 1);
  return {{TypeOf(call, 0), x}};
}

// Distances between the rows of two matrices.
Results CDist(const FoldCall& call) { return {{TypeOf(call, 0), Shape({DimOf(call, 0, 0), DimOf(call, 1, 0)})}}; }

// Boxes cut out of images [N,C,H,W] and scaled to one size.
Results CropAndResize(const FoldCall& call) {
  const Literal* size = call.value(3);
  if (size == nullptr || size->ints() == nullptr || size->ints()->size() != 2) return {{TypeOf(call, 0), Shape()}};
  return {{TypeOf(call, 0), Shape({DimOf(call, 1, 0), DimOf(call, 0, 1), (*size->ints())[0], (*size->ints())[1]})}};
}

// x [length,batch,features] -> [length,directions,batch,hidden] and the last hidden and cell states.
Results DynamicQuantizeLstm(const FoldCall& call) {
  const int64_t hidden = call.int_attribute("hidden_size", kUnknownDim);
  const int64_t directions = call.string_attribute("direction", "forward") == "bidirectional" ? 2 : 1;
  const int64_t batch = DimOf(call, 0, 1);
  const Shape last({directions, batch, hidden});
  return {{kFloat, Shape({DimOf(call, 0, 0), directions, batch, hidden})}, {kFloat, last}, {kFloat, last}};
}

Results MurmurHash3(const FoldCall& call) {
  const bool positive = call.int_attribute("positive", 1) != 0;
  return {{positive ? onnx::TensorProto::UINT32 : onnx::TensorProto::INT32, ShapeOf(call, 0)}};
}

// ids, scores: the scores with repeated n-grams forbidden.
Results NGramRepeatBlock(const FoldCall& call) { return {{TypeOf(call, 1), ShapeOf(call, 1)}}; }

constexpr auto kContribRows = std::to_array<TypeRuleRow>({
    {"", "LayerNormalization", LayerNorm},
    {"", "SimplifiedLayerNormalization", LayerNorm},
    {"com.microsoft", "BiasAdd", SameAsFirst},
    {"com.microsoft", "BiasDropout", BiasDropout},
    {"com.microsoft", "BiasGelu", SameAsFirst},
    {"com.microsoft", "BiasSoftmax", SameAsFirst},
    {"com.microsoft", "BiasSplitGelu", BiasSplitGelu},
    {"com.microsoft", "CDist", CDist},
    {"com.microsoft", "CropAndResize", CropAndResize},
    {"com.microsoft", "DequantizeLinear", Dequantize},
    {"com.microsoft", "DynamicQuantizeMatMul", DynamicQuantizeMatMul},
    {"com.microsoft", "DynamicQuantizeLSTM", DynamicQuantizeLstm},
    {"com.microsoft", "ExpandDims", ExpandDims},
    {"com.microsoft", "FastGelu", SameAsFirst},
    {"com.microsoft", "FusedGemm", FusedGemm},
    {"com.microsoft", "FusedMatMul", FusedMatMul},
    {"com.microsoft", "FusedMatMulActivation", FusedMatMul},
    {"com.microsoft", "Gelu", SameAsFirst},
    {"com.microsoft", "GemmFastGelu", DynamicQuantizeMatMul},
    {"com.microsoft", "GroupNorm", SameAsFirst},
    {"com.microsoft", "Inverse", SameAsFirst},
    {"com.microsoft", "LayerNormalization", LayerNorm},
    {"com.microsoft", "MatMulBnb4", MatMulNBits},
    {"com.microsoft", "MatMulInteger16", MatMulInteger16},
    {"com.microsoft", "MatMulIntegerToFloat", MatMulIntegerToFloat},
    {"com.microsoft", "MatMulNBits", MatMulNBits},
    {"com.microsoft", "MoE", SameAsFirst},
    {"com.microsoft", "MurmurHash3", MurmurHash3},
    {"com.microsoft", "NGramRepeatBlock", NGramRepeatBlock},
    {"com.microsoft", "QGemm", QGemm},
    {"com.microsoft", "QLinearAdd", QLinearBinary},
    {"com.microsoft", "QLinearConcat", QLinearConcat},
    {"com.microsoft", "QLinearLeakyRelu", SameAsFirst},
    {"com.microsoft", "QLinearMul", QLinearBinary},
    {"com.microsoft", "QLinearReduceMean", QLinearReduceMean},
    {"com.microsoft", "QLinearSigmoid", SameAsFirst},
    {"com.microsoft", "QLinearSoftmax", SameAsFirst},
    {"com.microsoft", "QLinearWhere", QLinearWhere},
    {"com.microsoft", "QMoE", SameAsFirst},
    {"com.microsoft", "QuantizeLinear", Quantize},
    {"com.microsoft", "QuickGelu", SameAsFirst},
    {"com.microsoft", "SimplifiedLayerNormalization", LayerNorm},
    {"com.microsoft", "SkipGroupNorm", SkipGroupNorm},
    {"com.microsoft", "TransposeMatMul", FusedMatMul},
});

}  // namespace

absl::Span<const TypeRuleRow> ContribRows() { return kContribRows; }

bool IsStandardElsewhere(std::string_view domain, std::string_view op) {
  constexpr auto kOps = std::to_array<std::string_view>({"GatherND", "GridSample", "Pad", "Range", "Trilu", "Unique"});
  return domain == "com.microsoft" && std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

}  // namespace onnx_mem::rules
