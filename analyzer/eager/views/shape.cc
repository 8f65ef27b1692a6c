// Operators that move elements into a new tensor: cat, stack, block_diag, padding, roll, repeat, flip. None saves more
// than shapes, but for the paddings that keep their input. Sources: tools/autograd/derivatives.yaml,
// torch/csrc/autograd/FunctionsManual.cpp (cat_tensors_backward, repeat_backward),
// aten/src/ATen/native/TensorShape.cpp.
#include "analyzer/eager/views/shape.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"
#include "analyzer/eager/views/layout.h"
#include "analyzer/eager/views/views.h"

namespace onnx_mem::eager {
namespace {

size_t AxisOf(const Call& call, size_t rank) {
  const int64_t axis = IntAttribute(call.node, "axis", 0);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Operands of another dtype are cast first.
std::vector<TensorRef> Promoted(Machine& m, const std::vector<TensorRef>& inputs) {
  DType dtype = DType::kUnknown;
  for (const TensorRef& t : inputs) {
    if (t != nullptr) dtype = dtype == DType::kUnknown ? t->dtype : PromoteTypes(dtype, t->dtype);
  }
  std::vector<TensorRef> promoted;
  for (const TensorRef& t : inputs) {
    if (t != nullptr) promoted.push_back(ToCopy(m, t, dtype));
  }
  return promoted;
}

// The common memory format of the operands (compute_output_memory_format), else contiguous.
Dims CatStrides(const std::vector<TensorRef>& inputs, const Dims& dims) {
  for (const TensorRef& t : inputs) {
    if (!SuggestsChannelsLast(*t)) return ContiguousStrides(dims);
  }
  return ChannelsLastStrides(dims);
}

// Tensors that have no such axis, which a malformed file may join, leave the result to what the file says.
void EnactCat(Machine& m, const Call& call, Outputs& out) {
  const size_t axis = AxisOf(call, call.output_dims().size());
  const bool fits = std::all_of(call.inputs.begin(), call.inputs.end(),
                                [axis](const TensorRef& t) { return t != nullptr && axis < t->dims.size(); });
  const bool reported = IntAttribute(call.node, "result_type", 0) != 0 && !m.autocast();
  if (fits) out[0] = Cat(m, call.inputs, axis, reported ? call.output().dtype : DType::kUnknown);
}

void EnactStack(Machine& m, const Call& call, Outputs& out) {
  out[0] = Stack(m, call.inputs, AxisOf(call, call.output_dims().size()));
}

// Inputs: matrices, which stand on the diagonal of the result. Backward: a view of the gradient for each
// (block_diag_backward of FunctionsManual.cpp).
void EnactBlockDiag(Machine& m, const Call& call, Outputs& out) {
  NodeRef node = m.MakeNode("BlockDiagBackward0", call.inputs);
  DType dtype = call.input(0)->dtype;
  for (const TensorRef& t : call.inputs) dtype = PromoteTypes(dtype, t->dtype);
  std::vector<Dims> blocks;
  for (const TensorRef& t : call.inputs) blocks.push_back(t->dims);
  out[0] = m.New("block_diag", call.output_dims(), dtype);
  node.Output(out[0]);
  node.Formula([blocks](Backward& b) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (!b.needs(i)) continue;
      b.result(i, SliceView(b.m, SliceView(b.m, b.grad(), 0, blocks[i][0], 1), 1, blocks[i][1], 1));
    }
  });
}

// Constant padding keeps the memory format; the others give a contiguous result and save their input.
void EnactPad(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const std::string mode = StringAttribute(call.node, "mode", "constant");
  const bool constant = mode == "constant";
  const bool channels_last = constant && SuggestsChannelsLast(*x);
  NodeRef node = m.MakeNode(constant ? "ConstantPadNdBackward0" : "ReflectionPad2DBackward0", {x});
  if (!constant) node.Save(x);
  const Dims& dims = call.output_dims();
  out[0] = m.New(constant ? "constant_pad_nd" : "reflection_pad", dims, x->dtype, ImageStrides(dims, channels_last));
  node.Output(out[0]);
  node.Formula([constant, dims = x->dims](Backward& b) {
    const bool keeps = constant && SuggestsChannelsLast(*b.grad());
    b.result(0, b.m.New(constant ? "constant_pad_nd" : "reflection_pad_backward", dims, b.grad()->dtype,
                        ImageStrides(dims, keeps)));
  });
}

// Rolls, flips and triangles: a new tensor each way. A roll is contiguous.
void EnactRoll(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("RollBackward0", {x});
  out[0] = m.New("roll", x->dims, x->dtype);
  node.Output(out[0]);
  node.Formula([](Backward& b) { b.result(0, b.m.New("roll", b.grad()->dims, b.grad()->dtype)); });
}

// Elements in another order, or some of them: a new tensor each way.
void EnactMoved(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const std::string_view op = call.node.op == "rot90" ? "rot90" : "diagonal_backward";
  NodeRef node = m.MakeNode("Rot90Backward0", {x});
  out[0] = m.New(op, call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([op, dims = x->dims](Backward& b) { b.result(0, b.m.New(op, dims, b.grad()->dtype)); });
}

// The gradient of a trace: zeros of all elements, in which those that a range names are filled in place.
void EnactTrace(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("TraceBackward0", {x});
  out[0] = m.New("trace", Dims{}, x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) {
    const TensorRef zeros = b.m.New("zeros", dims, b.grad()->dtype);
    const TensorRef places = b.m.New("arange", Dims{std::min(dims[0], dims[1])}, DType::kInt64);
    b.result(0, OverwriteUnlessObserved(b.m, "index_fill_", zeros));
  });
}

// A last dimension on the diagonals of matrices of zeros; the gradient's diagonal is a view.
void EnactDiagEmbed(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const auto rows = static_cast<size_t>(IntAttribute(call.node, "rows", 0));
  const auto columns = static_cast<size_t>(IntAttribute(call.node, "columns", 1));
  NodeRef node = m.MakeNode("DiagEmbedBackward0", {x});
  out[0] = m.New("diag_embed", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([rows, columns, dims = x->dims](Backward& b) {
    const TensorRef& grad = b.grad();
    Dims strides;
    for (size_t i = 0; i < grad->strides.size(); ++i) {
      if (i != rows && i != columns) strides.push_back(grad->strides[i]);
    }
    strides.push_back(grad->strides[rows] + grad->strides[columns]);
    b.result(0, b.m.Alias(grad, dims, strides));
  });
}

void EnactLike(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  const std::string_view op = call.node.op == "flip" ? "flip" : (call.node.op == "triu" ? "triu" : "tril");
  NodeRef node = m.MakeNode("FlipBackward0", {x});
  out[0] = call.inplace() ? InPlace(m, op, x) : m.NewLike(op, *x);
  node.Output(out[0]);
  node.Formula([op](Backward& b) { b.result(0, b.m.NewLike(op, *b.grad())); });
}

// slice_scatter and select_scatter: a copy of x with y in a part of it. Backward: a copy of the gradient with zeros
// there, and its part.
void EnactSliceScatter(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &y = call.input(1);
  const int64_t axis = IntAttribute(call.node, "axis", 0);
  NodeRef node = m.MakeNode("SliceScatterBackward0", {x, y});
  out[0] = m.NewLike("slice_scatter", *x);
  node.Output(out[0]);
  node.Formula([dims = y->dims, axis](Backward& b) {
    const TensorRef& grad = b.grad();
    if (b.needs(0)) {
      const TensorRef zeros = b.m.New("zeros", dims, grad->dtype);
      b.result(0, b.m.NewLike("slice_scatter", *grad));
    }
    if (!b.needs(1)) return;
    const bool is_slice = dims.size() == grad->dims.size();
    b.result(1,
             is_slice ? SliceView(b.m, grad, axis, dims[static_cast<size_t>(axis)], 1) : SelectView(b.m, grad, axis));
  });
}

// Tensor.repeat: new; backward sums the repeats.
void EnactRepeat(Machine& m, const Call& call, Outputs& out) { out[0] = Repeat(m, call.input(0), call.output_dims()); }

}  // namespace

TensorRef Cat(Machine& m, const std::vector<TensorRef>& tensors, size_t axis, DType dtype) {
  // The kernel itself promotes; under autocast the operands are cast before it.
  const std::vector<TensorRef> inputs = dtype == DType::kUnknown ? Promoted(m, tensors) : tensors;
  NodeRef node = m.MakeNode("CatBackward0", inputs);
  Dims dims = inputs[0]->dims;
  std::vector<int64_t> sizes;
  for (const TensorRef& t : inputs) sizes.push_back(t->dims[axis]);
  dims[axis] = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (dtype == DType::kUnknown) dtype = inputs[0]->dtype;
  TensorRef y = m.New("cat", dims, dtype, CatStrides(inputs, dims));
  node.Output(y);
  node.Formula([sizes, axis](Backward& b) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!b.needs(i)) continue;
      b.result(i, SliceView(b.m, b.grad(), static_cast<int64_t>(axis), sizes[i], 1));
    }
  });
  return y;
}

TensorRef Stack(Machine& m, const std::vector<TensorRef>& tensors, size_t axis) {
  const std::vector<TensorRef> inputs = Promoted(m, tensors);
  NodeRef node = m.MakeNode("StackBackward0", inputs);
  Dims dims = inputs[0]->dims;
  dims.insert(dims.begin() + static_cast<int64_t>(axis), static_cast<int64_t>(inputs.size()));
  TensorRef y = m.New("stack", dims, inputs[0]->dtype);
  node.Output(y);
  node.Formula([count = inputs.size(), axis](Backward& b) {
    for (size_t i = 0; i < count; ++i) {
      if (b.needs(i)) b.result(i, SelectView(b.m, b.grad(), static_cast<int64_t>(axis)));
    }
  });
  return y;
}

TensorRef Repeat(Machine& m, const TensorRef& x, const Dims& dims) {
  NodeRef node = m.MakeNode("RepeatBackward0", {x});
  TensorRef y = m.New("repeat", dims, x->dtype);
  node.Output(y);
  node.Formula([original = x->dims](Backward& b) {
    if (NumElements(b.grad()->dims) == NumElements(original)) {
      b.result(0, Reshape(b.m, b.grad(), original));
    } else {
      b.result(0, b.m.New("sum", original, b.grad()->dtype));
    }
  });
  return y;
}

namespace {

bool AreMatrices(const CallShape& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.rank(i) != 2) return false;
  }
  return call.output_rank() == 2;
}

// y has the axis of x that it is a part of, or not.
bool TakesPart(const CallShape& call) {
  const int64_t rank = call.rank(0);
  return call.AxisWithin("axis", rank) && (call.rank(1) == rank || call.rank(1) + 1 == rank);
}

bool IsMatrix(const CallShape& call) { return call.rank(0) == 2; }
bool EmbedsDiagonal(const CallShape& call) {
  const int64_t rank = call.output_rank();
  return call.rank(0) >= 1 && rank == call.rank(0) + 1 && call.AxisWithin("rows", rank) &&
         call.AxisWithin("columns", rank);
}

bool AddsAxis(const CallShape& call) {
  return call.output_rank() == call.rank(0) + 1 && call.AxisWithin("axis", call.output_rank());
}

}  // namespace

std::span<const OpRow> ShapeOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"block_diag", EnactBlockDiag, 1, 2, AreMatrices},
      {"cat", EnactCat, 1, 1},
      {"channel_shuffle", EnactRoll},
      {"diag_embed", EnactDiagEmbed, 1, 1, EmbedsDiagonal},
      {"diagonal_copy", EnactMoved},
      {"flip", EnactLike},
      {"pad", EnactPad},
      {"repeat", EnactRepeat},
      {"roll", EnactRoll},
      {"rot90", EnactMoved},
      {"slice_scatter", EnactSliceScatter, 2, 1, TakesPart},
      {"stack", EnactStack, 1, 0, AddsAxis},
      {"trace", EnactTrace, 1, 2, IsMatrix},
      {"tril", EnactLike},
      {"triu", EnactLike},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
