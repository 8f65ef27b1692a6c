// The default domain's past: first versions of operators, which had no shape inference, and experimental operators that
// WinML, CNTK and Core ML converters wrote and that left the standard with version 1.5.
#include <array>

#include "analyzer/onnx/read/tensor_literal.h"
#include "analyzer/onnx/rules/rule.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem::rules {
namespace {

using fold::FoldCall;

// border: left, top, right, bottom of an image [N,C,H,W]; scale: the size that is left, from the border on.
Results Crop(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  const Dims border = IntsOf(call, "border");
  if (x.rank() != 4 || border.size() != 4) return {{TypeOf(call, 0), Shape()}};
  const Dims scale = IntsOf(call, "scale");
  const auto cut = [](int64_t size, int64_t before, int64_t after) {
    return size < 0 || size < before + after ? kUnknownDim : size - before - after;
  };
  x.dims[2] = scale.size() == 2 ? scale[0] : cut(x.dims[2], border[1], border[3]);
  x.dims[3] = scale.size() == 2 ? scale[1] : cut(x.dims[3], border[0], border[2]);
  return {{TypeOf(call, 0), x}};
}

// The shape is an attribute, or with input_as_shape the contents of the input; extra_shape is appended.
Results ConstantFill(const FoldCall& call) {
  Dims dims = IntsOf(call, "shape");
  if (call.has(0)) {
    if (call.int_attribute("input_as_shape", 0) == 0) {
      if (!ShapeOf(call, 0).has_rank) return {};
      dims = ShapeOf(call, 0).dims;
    } else {
      const Literal* contents = call.value(0);
      if (contents == nullptr || contents->ints() == nullptr) return {};
      dims.assign(contents->ints()->begin(), contents->ints()->end());
    }
  }
  const Dims extra = IntsOf(call, "extra_shape");
  dims.insert(dims.end(), extra.begin(), extra.end());
  return {{static_cast<int>(call.int_attribute("dtype", onnx::TensorProto::FLOAT)), Shape(dims)}};
}

Results GivenTensorFill(const FoldCall& call) { return {{onnx::TensorProto::FLOAT, Shape(IntsOf(call, "shape"))}}; }

// Type names as opset 1 wrote them: "FLOAT", "INT64".
Results CastByName(const FoldCall& call) {
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  onnx::TensorProto::DataType_Parse(std::string(call.string_attribute("to", "")), &type);
  return {{type, ShapeOf(call, 0)}};
}

Results ReshapeByAttribute(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  Dims dims = IntsOf(call, "shape");
  int64_t rest = NumElements(x).value_or(kUnknownDim);
  size_t inferred = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) dims[i] = i < x.rank() ? x.dims[i] : kUnknownDim;
    if (dims[i] == -1) {
      inferred = i;
    } else {
      rest = Over(rest, dims[i]);
    }
  }
  if (inferred < dims.size()) dims[inferred] = rest;
  return {{TypeOf(call, 0), Shape(dims)}};
}

Results ConcatByAttribute(const FoldCall& call) {
  Shape out = ShapeOf(call, 0);
  std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", 1), out.rank());
  if (!axis) return {{TypeOf(call, 0), Shape()}};
  for (size_t i = 1; i < call.num_inputs(); ++i) {
    out.dims[*axis] = Plus(out.dims[*axis], DimOf(call, i, static_cast<int64_t>(*axis)));
  }
  return {{TypeOf(call, 0), out}};
}

Results SplitByAttribute(const FoldCall& call) {
  const Shape x = ShapeOf(call, 0);
  std::optional<size_t> axis = fold::NormalAxis(call.int_attribute("axis", 0), x.rank());
  const Dims lengths = IntsOf(call, "split");
  Results results;
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    Shape out = axis ? x : Shape();
    if (axis) {
      const auto parts = static_cast<int64_t>(call.num_outputs());
      out.dims[*axis] = i < lengths.size() ? lengths[i] : Over(x.dims[*axis], parts);
    }
    results.push_back({TypeOf(call, 0), out});
  }
  return results;
}

Results PadByAttribute(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  const Dims pads = IntsOf(call, "paddings");
  if (!x.has_rank || pads.size() != 2 * x.rank()) return {{TypeOf(call, 0), Shape()}};
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t padded = x.dims[i] < 0 ? kUnknownDim : x.dims[i] + pads[i] + pads[i + x.rank()];
    x.dims[i] = padded < 0 ? kUnknownDim : padded;
  }
  return {{TypeOf(call, 0), x}};
}

Results Gemm(const FoldCall& call) {
  const bool trans_a = call.int_attribute("transA", 0) != 0;
  const bool trans_b = call.int_attribute("transB", 0) != 0;
  return {{TypeOf(call, 0), Shape({DimOf(call, 0, trans_a ? 1 : 0), DimOf(call, 1, trans_b ? 0 : 1)})}};
}

Results GlobalPool(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  for (size_t i = 2; i < x.rank(); ++i) x.dims[i] = 1;
  return {{TypeOf(call, 0), x}};
}

Results UpsampleByAttribute(const FoldCall& call) {
  Shape x = ShapeOf(call, 0);
  if (x.rank() != 4) return {{TypeOf(call, 0), Shape()}};
  const auto scale = [](int64_t size, double by) {
    return size < 0 || !(by > 0 && by < 1e6) ? kUnknownDim : static_cast<int64_t>(static_cast<double>(size) * by);
  };
  x.dims[2] = scale(x.dims[2], call.float_attribute("height_scale", 0));
  x.dims[3] = scale(x.dims[3], call.float_attribute("width_scale", 0));
  return {{TypeOf(call, 0), x}};
}

// Data, scale, bias and two statistics; the other outputs of training have the statistics' shape.
Results BatchNormalization(const FoldCall& call) {
  Results results = SameAsFirst(call);
  for (size_t i = 1; i < call.num_outputs(); ++i) results.push_back({TypeOf(call, 1), ShapeOf(call, 1)});
  return results;
}

Results Comparison(const FoldCall& call) {
  return {{onnx::TensorProto::BOOL, Broadcast(ShapeOf(call, 0), ShapeOf(call, 1))}};
}

constexpr auto kFormerRows = std::to_array<TypeRuleRow>({
    {"", "Abs", SameAsFirst},
    {"", "Add", SameAsFirst},  // version 1 broadcasts the second operand to the first
    {"", "Affine", SameAsFirst},
    {"", "BatchNormalization", BatchNormalization},
    {"", "Cast", CastByName},
    {"", "Ceil", SameAsFirst},
    {"", "Clip", SameAsFirst},
    {"", "Concat", ConcatByAttribute},
    {"", "ConstantFill", ConstantFill},
    {"", "Crop", Crop},
    {"", "Div", SameAsFirst},
    {"", "Elu", SameAsFirst},
    {"", "Exp", SameAsFirst},
    {"", "Floor", SameAsFirst},
    {"", "Gemm", Gemm},
    {"", "GivenTensorFill", GivenTensorFill},
    {"", "GlobalLpPool", GlobalPool},
    {"", "GreaterOrEqual", Comparison},
    {"", "GroupNormalization", SameAsFirst},
    {"", "HardSigmoid", SameAsFirst},
    {"", "ImageScaler", SameAsFirst},
    {"", "InstanceNormalization", SameAsFirst},
    {"", "LeakyRelu", SameAsFirst},
    {"", "LessOrEqual", Comparison},
    {"", "Log", SameAsFirst},
    {"", "Max", SameAsFirst},
    {"", "Mean", SameAsFirst},
    {"", "MeanVarianceNormalization", SameAsFirst},
    {"", "Min", SameAsFirst},
    {"", "Mul", SameAsFirst},
    {"", "Neg", SameAsFirst},
    {"", "PRelu", SameAsFirst},
    {"", "Pad", PadByAttribute},
    {"", "ParametricSoftplus", SameAsFirst},
    {"", "Reciprocal", SameAsFirst},
    {"", "Relu", SameAsFirst},
    {"", "Reshape", ReshapeByAttribute},
    {"", "Scale", SameAsFirst},
    {"", "ScaledTanh", SameAsFirst},
    {"", "Selu", SameAsFirst},
    {"", "Sigmoid", SameAsFirst},
    {"", "Split", SplitByAttribute},
    {"", "Sqrt", SameAsFirst},
    {"", "Sub", SameAsFirst},
    {"", "Sum", SameAsFirst},
    {"", "Tanh", SameAsFirst},
    {"", "Upsample", UpsampleByAttribute},
});

}  // namespace

absl::Span<const TypeRuleRow> FormerRows() { return kFormerRows; }

}  // namespace onnx_mem::rules
