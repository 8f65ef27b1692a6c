// Operators that pick by index. Indices are saved; the gradient is written into zeros of the input's size, in place.
// Sources: tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (index_backward, gather_backward,
// value_selecting_reduction_backward).
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/eager/operators/families.h"
#include "analyzer/eager/operators/pointwise.h"

namespace onnx_mem::eager {
namespace {

// zeros of the input's shape, then the picked elements' gradients in place.
void ScatterIntoZeros(Backward& b, const Dims& dims, std::string_view op) {
  const TensorRef zeros = b.m.New("new_zeros", dims, b.grad()->dtype);
  b.result(0, OverwriteUnlessObserved(b.m, op, zeros));
}

// Inputs: weight, indices. The gradient is dense.
void EnactEmbedding(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& weight = call.input(0);
  NodeRef node = m.MakeNode("EmbeddingBackward0", {weight});
  node.Save(call.input(1));
  out[0] = m.New("embedding", call.output_dims(), weight->dtype);
  node.Output(out[0]);
  node.Formula(
      [dims = weight->dims](Backward& b) { b.result(0, b.m.New("embedding_dense_backward", dims, b.grad()->dtype)); });
}

// Inputs: weight, indices, offsets of the bags (where none are given, one row of indices for each bag). Beside the bags
// the kernel gives which bag an index is in, a count for each bag, and for a maximum the rows that it took.
void EnactEmbeddingBag(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &weight = call.input(0), &indices = call.input(1);
  const Dims& dims = call.output_dims();
  const bool largest = StringAttribute(call.node, "mode", "sum") == "max";
  const TensorRef offsets = call.input(2) ? call.input(2) : m.New("arange", Dims{dims[0]}, DType::kInt64);
  NodeRef node = m.MakeNode("EmbeddingBagBackward0", {weight});
  node.Save(indices);
  node.Save(offsets);
  out[0] = m.New("_embedding_bag", dims, weight->dtype);
  const TensorRef bags = m.Allocate(Dims{NumElements(indices->dims)}, DType::kInt64);
  const TensorRef counts = m.Allocate(Dims{dims[0]}, DType::kInt64);
  const TensorRef rows = largest ? m.Allocate(dims, DType::kInt64) : nullptr;
  size_t place = 1;
  for (const TensorRef& made : {bags, counts, rows}) {
    if (made) node.Save(made);
    if (place < out.size()) out[place++] = made;
  }
  node.Output(out[0]);
  node.Formula(
      [dims = weight->dims](Backward& b) { b.result(0, b.m.New("_embedding_bag_backward", dims, b.grad()->dtype)); });
}

void EnactIndexSelect(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("IndexSelectBackward0", {x});
  node.Save(call.input(1));
  out[0] = m.New("index_select", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { ScatterIntoZeros(b, dims, "index_add_"); });
}

// GatherElements. Keeps its input, though only the shape is needed.
void EnactGather(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("GatherBackward0", {x});
  node.Save(x);
  node.Save(call.input(1));
  out[0] = m.New("gather", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { ScatterIntoZeros(b, dims, "scatter_add_"); });
}

// x[i, j, ...].
void EnactIndex(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode("IndexBackward0", {x});
  for (size_t i = 1; i < call.inputs.size(); ++i) node.Save(call.input(i));
  out[0] = m.New("index", call.output_dims(), x->dtype);
  node.Output(out[0]);
  node.Formula([dims = x->dims](Backward& b) { ScatterIntoZeros(b, dims, "index_put_"); });
}

// Inputs: x, index, source (none: a number).
void EnactScatter(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &source = call.input(2);
  const bool adds = call.node.op == "scatter_add";
  NodeRef node = m.MakeNode(adds ? "ScatterAddBackward0" : "ScatterBackward0", {x, source});
  node.Save(call.input(1));
  out[0] = call.inplace() ? InPlace(m, "scatter_", x) : m.NewLike(adds ? "scatter_add" : "scatter", *x);
  node.Output(out[0]);
  const Dims index_dims = call.input(1)->dims;
  node.Formula([adds, index_dims](Backward& b) {
    if (b.needs(0)) b.result(0, adds ? b.grad() : b.m.NewLike("scatter", *b.grad()));
    if (b.needs(1)) b.result(1, b.m.New("gather", index_dims, b.grad()->dtype));
  });
}

// Inputs: x, values, indices...
void EnactIndexPut(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &values = call.input(1);
  const bool accumulate = IntAttribute(call.node, "accumulate", 0) != 0;
  NodeRef node = m.MakeNode("IndexPutBackward0", {x, values});
  for (size_t i = 2; i < call.inputs.size(); ++i) node.Save(call.input(i));
  out[0] = call.inplace() ? InPlace(m, "index_put_", x) : m.NewLike("index_put", *x);
  node.Output(out[0]);
  const Dims value_dims = values != nullptr ? values->dims : Dims{};
  node.Formula([accumulate, value_dims](Backward& b) {
    if (b.needs(0) && accumulate) b.result(0, b.grad());
    if (b.needs(0) && !accumulate) {
      const TensorRef zeros = b.m.New("zeros", value_dims, b.grad()->dtype);
      b.result(0, b.m.NewLike("index_put", *b.grad()));
    }
    if (b.needs(1)) b.result(1, b.m.New("index", value_dims, b.grad()->dtype));
  });
}

// Inputs: x, index, source. The source is saved though only its shape is needed.
void EnactIndexAdd(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &source = call.input(2);
  NodeRef node = m.MakeNode("IndexAddBackward0", {x, source});
  node.Save(call.input(1));
  node.Save(node.needs(1) ? source : nullptr);
  out[0] = call.inplace() ? InPlace(m, "index_add_", x) : m.NewLike("index_add", *x);
  node.Output(out[0]);
  node.Formula([dims = source->dims](Backward& b) {
    b.result(0, b.grad());
    if (b.needs(1)) b.result(1, b.m.New("index_select", dims, b.grad()->dtype));
  });
}

// Inputs: x, index, source, as above; nothing of x is left where the index points.
void EnactIndexCopy(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &source = call.input(2);
  NodeRef node = m.MakeNode("IndexCopyBackward0", {x, source});
  node.Save(call.input(1));
  node.Save(node.needs(1) ? source : nullptr);
  out[0] = call.inplace() ? InPlace(m, "index_copy_", x) : m.NewLike("index_copy", *x);
  node.Output(out[0]);
  node.Formula([dims = source->dims](Backward& b) {
    if (b.needs(0)) b.result(0, b.m.NewLike("index_fill", *b.grad()));
    if (b.needs(1)) b.result(1, b.m.New("index_select", dims, b.grad()->dtype));
  });
}

// x[a:b] = y, in place. Of a part, CopySlices copies the gradient, hands on its own copy of the part, and zeros that
// part of the first; of all of x, the gradient passes to y as it is. Inputs: x, y. Sources:
// torch/csrc/autograd/functions/ tensor.cpp (CopySlices, CopyBackwards).
void EnactCopyInto(Machine& m, const Call& call, Outputs& out) {
  const TensorRef &x = call.input(0), &y = call.input(1);
  const bool whole = NumElements(y->dims) == NumElements(x->dims);
  NodeRef node = m.MakeNode(whole ? "CopyBackwards" : "CopySlices", {x, y});
  m.BeginStep("copy_");
  out[0] = m.Alias(x, x->dims, x->strides, x->is_view);
  node.Output(out[0]);
  node.Formula([whole, part = y->dims](Backward& b) {
    if (whole) {
      if (b.needs(0)) b.result(0, b.m.NewLike("zeros_like", *b.grad()));
      b.result(1, b.grad());
      return;
    }
    const TensorRef base = b.m.NewLike("new_empty_strided", *b.grad());
    const TensorRef slice = b.m.New("clone", part, b.grad()->dtype);
    if (b.needs(0)) b.m.New("zeros_like", part, b.grad()->dtype);
    b.result(0, base);
    b.result(1, slice);
  });
}

// topk, sort: values and int64 indices.
void EnactOrder(Machine& m, const Call& call, Outputs& out) {
  const TensorRef& x = call.input(0);
  NodeRef node = m.MakeNode(call.node.op == "topk" ? "TopkBackward0" : "SortBackward0", {x});
  out[0] = m.New(call.node.op, call.output_dims(), x->dtype);
  TensorRef indices = m.Allocate(call.output_dims(), DType::kInt64);
  node.Save(indices);
  node.Output(out[0]);
  if (out.size() > 1) out[1] = indices;
  node.Formula([dims = x->dims](Backward& b) { ScatterIntoZeros(b, dims, "scatter_"); });
}

// nonzero, unique, searchsorted and their like: new tensors without gradient. {strides, strides1, ...}: of each
// that is not row-major.
void EnactFound(Machine& m, const Call& call, Outputs& out) {
  m.BeginStep(call.node.op);
  for (size_t i = 0; i < out.size(); ++i) {
    if (!call.node.outputs[i].valid()) continue;
    const std::vector<int64_t> strides = IntsAttribute(call.node, i == 0 ? "strides" : absl::StrCat("strides", i));
    out[i] = m.Allocate(call.output_dims(i), call.output(i).dtype, Dims(strides.begin(), strides.end()));
  }
}

// Positions among boundaries.
void EnactBucketize(Machine& m, const Call& call, Outputs& out) {
  out[0] = m.NewLike("bucketize", *call.input(0), DType::kInt64);
}

// arange == index, then cast.
void EnactOneHot(Machine& m, const Call& call, Outputs& out) {
  const Dims& dims = call.output_dims();
  const int64_t axis = IntAttribute(call.node, "axis", -1);
  const auto rank = static_cast<int64_t>(dims.size());
  const TensorRef range =
      m.New("arange", Dims{dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)]}, DType::kInt64);
  const TensorRef equal = m.New("eq", dims, DType::kBool);
  out[0] = m.New("_to_copy", dims, call.output().dtype);
}

}  // namespace

namespace {

bool GivesBags(const CallShape& call) { return call.output_rank() >= 1; }
bool GivesAxis(const CallShape& call) { return call.AxisWithin("axis", call.output_rank(), -1); }

}  // namespace

std::span<const OpRow> SelectOps() {
  static constexpr auto kRows = std::to_array<OpRow>({
      {"bucketize", EnactBucketize},
      {"copy_into", EnactCopyInto, 2},
      {"embedding", EnactEmbedding, 2, 1},
      {"embedding_bag", EnactEmbeddingBag, 2, 2, GivesBags},
      {"gather", EnactGather, 2, 1},
      {"index", EnactIndex, 2, 1},
      {"index_add", EnactIndexAdd, 3},
      {"index_copy", EnactIndexCopy, 3},
      {"index_put", EnactIndexPut},
      {"index_select", EnactIndexSelect, 2, 1},
      {"nonzero", EnactFound},
      {"one_hot", EnactOneHot, 1, 0, GivesAxis},
      {"scatter", EnactScatter, 2, 1},
      {"scatter_add", EnactScatter, 2},
      {"sort", EnactOrder},
      {"topk", EnactOrder},
      {"unique", EnactFound},
      {"without_gradient", EnactFound, 0},
  });
  return kRows;
}

}  // namespace onnx_mem::eager
