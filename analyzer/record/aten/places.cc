#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "analyzer/record/aten/call.h"
#include "analyzer/record/aten/readers.h"

namespace onnx_mem::record {

// --- views

void Transpose(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  const bool named = c.num_arguments() > 2;  // t() has no dimensions
  const int64_t a = c.Axis(named ? c.Int(1, "dim0", 0) : 0, rank), b = c.Axis(named ? c.Int(2, "dim1", 1) : 1, rank);
  if (a >= 0 && a < rank && b >= 0 && b < rank) std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(b)]);
  c.node.attributes["perm"] = perm;
}

// diag_embed(x, offset, dim1, dim2): the two dimensions of the result that a diagonal lies in.
void OntoDiagonal(AtenCall& c) {
  c.TakeInputs({0});
  const auto rank = static_cast<int64_t>(c.result().shape.rank());
  c.node.attributes["rows"] = c.Axis(c.Int(2, "dim1", -2), rank);
  c.node.attributes["columns"] = c.Axis(c.Int(3, "dim2", -1), rank);
}

// x.T: all dimensions in reverse (numpy_T in TensorShape.cpp).
void Reverse(AtenCall& c) {
  c.TakeInputs({0});
  std::vector<int64_t> perm(c.IsTensor(0) ? static_cast<size_t>(c.rank(c.Tensor(0))) : 0);
  std::iota(perm.rbegin(), perm.rend(), 0);
  c.node.attributes["perm"] = perm;
}

void Permute(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  std::vector<int64_t> perm = c.Ints(1, "dims");
  for (int64_t& axis : perm) axis = c.Axis(axis, rank);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) perm.clear();
  }
  c.node.attributes["perm"] = perm;
}

static void WithAxis(AtenCall& c, size_t place, int64_t fallback) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  c.node.attributes["axis"] = c.Axis(c.Int(place, "dim", fallback), rank);
}
void FirstAxis(AtenCall& c) { WithAxis(c, 1, 0); }
void LastAxis(AtenCall& c) { WithAxis(c, 1, -1); }
void SecondPlaceAxis(AtenCall& c) { WithAxis(c, 2, 0); }
// (windows, input_sizes, dim, size, step): of the result, which has no dimension for the elements of a window.
void AxisOfWindows(AtenCall& c) {
  c.TakeInputs({0});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) - 1 : 0;
  c.node.attributes["axis"] = c.Axis(c.Int(2, "dim", 0), rank);
}

void Select(AtenCall& c) {
  WithAxis(c, 1, 0);
  c.node.attributes["index"] = c.Int(2, "index", 0);
}

// Of _embedding_bag (EmbeddingBag.cu). Weights of single rows get a gradient, and one of the table may be sparse: no
// rule.
void Bags(AtenCall& c) {
  constexpr int64_t kMaximum = 2;
  c.TakeInputs({0, 1, 2});
  c.node.attributes["mode"] = std::string(c.Int(4, "mode", 0) == kMaximum ? "max" : "sum");
  if (c.IsTensor(6, "per_sample_weights") || c.Flag(5, "sparse", false)) c.node.op = "assumed";
}

// x[:] of everything is no call; what is one, as x.narrow(0, 0, n) is, has its backward.
void Slice(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["of_everything"] = int64_t{1};
  if (!c.IsTensor(0)) return;
  const Dims& dims = c.graph.tensors[c.Tensor(0)].shape.dims;
  const int64_t axis = c.Axis(c.Int(1, "dim", 0), static_cast<int64_t>(dims.size()));
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) return;
  const int64_t size = dims[static_cast<size_t>(axis)];
  const int64_t start = c.Has(2, "start") ? std::clamp<int64_t>(c.Axis(c.Int(2, "start", 0), size), 0, size) : 0;
  c.node.attributes["axes"] = std::vector<int64_t>{axis};
  c.node.attributes["starts"] = std::vector<int64_t>{start};
  c.node.attributes["steps"] = std::vector<int64_t>{c.Int(4, "step", 1)};
}

// at::alias: a slice of everything.
void Alias(AtenCall& c) {
  c.TakeInputs({0});
  for (const char* name : {"axes", "starts", "steps"}) c.node.attributes[name] = std::vector<int64_t>{};
}

void AsStrided(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["strides"] = c.Ints(2, "stride");
}

void Clone(AtenCall& c) {
  c.TakeInputs({0});
  const std::string format = c.Text(c.num_arguments(), "memory_format");
  if (format == "contiguous_format") c.node.attributes["contiguous"] = int64_t{1};
  if (absl::StartsWith(format, "channels_last")) c.node.attributes["channels_last"] = int64_t{1};
}

// A cast; with the dtype that is there already a copy to another device or format.
void ToCopy(AtenCall& c) {
  if (!c.IsTensor(0)) {  // from the host
    c.node.op = "full";
    return Factory(c);
  }
  if (c.graph.tensors[c.Tensor(0)].dtype == c.result().dtype) {
    c.node.op = "clone";
    return Clone(c);
  }
  c.TakeInputs({0});
}

// --- choosing by index

void Index(AtenCall& c) {
  c.TakeInputs({0});
  for (TensorId id : c.Tensors(1, "indices")) {
    if (id.valid()) c.node.inputs.push_back(id);
  }
}

void IndexPut(AtenCall& c) {
  c.TakeInputs({0, 2});
  for (TensorId id : c.Tensors(1, "indices")) {
    if (id.valid()) c.node.inputs.push_back(id);
  }
  c.node.attributes["accumulate"] = int64_t{c.Flag(3, "accumulate", false)};
}

void ByAxisAndIndex(AtenCall& c) {
  c.TakeInputs({0, 2, 3});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  c.node.attributes["axis"] = c.Axis(c.Int(1, "dim", 0), rank);
}

void FirstAndThird(AtenCall& c) { c.TakeInputs({0, 2}); }

// (x, y, axis, ...): y becomes a part of x.
void TwoByAxis(AtenCall& c) {
  c.TakeInputs({0, 1});
  const int64_t rank = c.IsTensor(0) ? c.rank(c.Tensor(0)) : 0;
  c.node.attributes["axis"] = c.Axis(c.Int(2, "dim", 0), rank);
}

void ScatterReduce(AtenCall& c) {
  ByAxisAndIndex(c);
  const std::string reduce = c.Text(4, "reduce");
  std::string reduction = "max";  // amax, amin
  if (absl::StrContains(reduce, "sum")) reduction = "add";
  if (absl::StrContains(reduce, "mean")) reduction = "mean";
  if (absl::StrContains(reduce, "prod")) reduction = "prod";
  c.node.attributes["reduction"] = reduction;
}

void Gather(AtenCall& c) {
  c.TakeInputs({0, 2});
  c.node.attributes["axis"] = c.Int(1, "dim", 0);
}

// --- shapes

// torch.cat leaves out an empty cache, of shape [0], whatever the others' rank (TensorShape.cpp).
static bool IsLeftOutOfCat(const AtenCall& c, TensorId id) {
  const Shape& shape = c.graph.tensors[id].shape;
  return shape.rank() == 1 && shape.dims[0] == 0;
}

void All(AtenCall& c) { c.node.inputs = c.Tensors(0, "tensors"); }

void Cat(AtenCall& c) {
  All(c);
  EraseIf(c.node.inputs, [&](TensorId id) { return IsLeftOutOfCat(c, id); });
  if (c.node.inputs.empty()) c.node.inputs = c.Tensors(0, "tensors");
  c.node.attributes["result_type"] = int64_t{1};
  c.node.attributes["axis"] = c.Axis(c.Int(1, "dim", 0), c.rank(c.node.outputs[0]));
}

void Stack(AtenCall& c) {
  c.node.inputs = c.Tensors(0, "tensors");
  c.node.attributes["axis"] = c.Int(1, "dim", 0);
}

void ConstantPad(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("constant");
}
void Pad(AtenCall& c) {
  c.TakeInputs({0});
  const bool constant = !c.Has(2, "mode") || c.Text(2, "mode") == "constant";
  c.node.attributes["mode"] = std::string(constant ? "constant" : "reflect");
}
void MirrorPad(AtenCall& c) {
  c.TakeInputs({0});
  c.node.attributes["mode"] = std::string("reflect");
}

}  // namespace onnx_mem::record
