// Reading and writing by index.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// nn.Embedding looks its own weight up; an expression table[index] in another module is advanced indexing.
bool IsEmbedding(const Site& s, TensorId table) {
  const Tensor& tensor = s.draft().tensor(table);
  if (tensor.shape.rank() != 2 || !IsFloating(tensor.dtype)) return false;
  if (absl::StartsWith(s.scope().framework_op, "embedding#")) return true;
  return absl::EndsWith(tensor.name, "weight") || !absl::StrContains(tensor.name, ".");
}

}  // namespace

// Gather is select for one known index, embedding for rows of a weight, index_select for a 1-D index, and otherwise
// advanced indexing.
void LowerGather(Site& s) {
  const int64_t axis = s.Axis("axis", 0);
  const auto index = s.Number(1);
  if (index && s.InRank(1) == 0) {
    const Dims& dims = s.InShape(0).dims;
    const int64_t size = axis >= 0 && axis < static_cast<int64_t>(dims.size()) ? dims[static_cast<size_t>(axis)] : 0;
    const auto position = static_cast<int64_t>(*index);
    s.Emit("select", {s.Materialized(0)}, {s.Out(0)},
           {{"axis", axis}, {"index", position < 0 ? position + size : position}});
    return;
  }
  const TensorId table = s.Stored(0);
  if (axis == 0 && table.valid() && IsEmbedding(s, table)) {
    s.Emit("embedding", {table, s.Materialized(1)}, {s.Out(0)});
    return;
  }
  const bool one_dimensional = s.InRank(1) <= 1;
  s.Emit(one_dimensional ? "index_select" : "index", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)},
         {{"axis", axis}});
}

void LowerGatherElements(Site& s) {
  s.Emit("gather", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)}, {{"axis", s.Axis("axis", 0)}});
}

void LowerGatherNd(Site& s) {
  s.Emit("index", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)}, {{"axis", int64_t{0}}});
}

// scatter, scatter_add, and scatter_reduce for the other reductions.
void LowerScatterElements(Site& s) {
  const std::string reduction = s.String("reduction", "none");
  const bool named = absl::StartsWith(s.scope().framework_op, "scatter_reduce#");
  const std::string_view op = reduction == "none"            ? "scatter"
                              : reduction == "add" && !named ? "scatter_add"
                                                             : "scatter_reduce";
  s.Emit(op, {s.Materialized(0), s.Materialized(1), s.Materialized(2)}, {s.Out(0)},
         {{"axis", s.Axis("axis", 0)}, {"reduction", reduction}});
}

// x[a:b] = y is written as a ScatterND at positions made of ranges: the framework copies into a view, in place. Numbers
// are filled in.
void LowerScatterNd(Site& s) {
  const TensorId x = s.Materialized(0);
  const auto& from_data = s.lowering().residence.from_data;
  const bool named = absl::StartsWith(s.scope().framework_op, "index_put#") || s.String("reduction", "none") != "none";
  const bool at_ranges = s.Has(1) && !from_data[s.node().inputs[1]] && !named;
  if (!at_ranges || !s.draft().producer(x).valid()) {
    const bool adds = s.String("reduction", "none") != "none";
    s.Emit("index_put", {x, s.Materialized(2), s.Materialized(1)}, {s.Out(0)},
           {{"accumulate", static_cast<int64_t>(adds)}});
    return;
  }
  if (!s.Has(2) || !from_data[s.node().inputs[2]] || !s.In(2).valid()) return s.Alias(0, x);
  s.Emit("copy_into", {x, s.In(2)}, {s.Out(0)});
}

// A key or value cache that the new tokens are written into, in place.
void LowerTensorScatter(Site& s) { s.Emit("copy_into", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)}); }

void LowerTopK(Site& s) { s.Emit("topk", {s.Materialized(0)}, {s.Out(0), s.Out(1)}, {{"axis", s.Axis("axis", -1)}}); }

void LowerNonZero(Site& s) { s.Emit("nonzero", {s.Materialized(0)}, {s.Out(0)}); }

// x[mask] along an axis, or of all elements: the positions of the true ones, then indexing.
void LowerCompress(Site& s) {
  const Dims dims = s.InShape(0).dims, out = s.OutShape().dims;
  const bool flat = s.node().attributes.find("axis") == s.node().attributes.end();
  const int64_t axis = flat ? 0 : s.Axis("axis", 0);
  if (axis < 0 || axis >= static_cast<int64_t>(out.size())) return s.Assume();
  const TensorId positions =
      s.EmitTemp("nonzero", {s.Materialized(1)}, {out[static_cast<size_t>(axis)]}, DType::kInt64);
  TensorId x = s.Materialized(0);
  const auto elements = NumElements(s.InShape(0));
  if (flat && dims.size() > 1 && elements) x = s.EmitTemp("reshape", {x}, {*elements}, s.InType(0));
  s.Emit("index", {x, positions}, {s.Out(0)}, {{"axis", axis}});
}

// The row's operator, which ignores what it reads.
void LowerNewWithoutGradient(Site& s) { s.Emit(s.framework(), {}, s.node().outputs); }

// The same of ai.onnx.ml, behind a network whose result it reads: the labels of a classifier.
void LowerOfClassicalLibrary(Site& s) { s.Emit("empty", s.DeviceTensors(), s.node().outputs); }

void LowerOneHot(Site& s) { s.Emit("one_hot", {s.Materialized(0)}, {s.Out(0)}); }

void LowerTrilu(Site& s) { s.Emit(s.Int("upper", 1) != 0 ? "triu" : "tril", {s.Materialized(0)}, {s.Out(0)}); }

// torch has no such operator; a gather along the time axis does it.
void LowerReverseSequence(Site& s) {
  s.Emit("flip", {s.Materialized(0)}, {s.Out(0)}, {{"axes", std::vector<int64_t>{s.Int("time_axis", 0)}}});
}

}  // namespace onnx_mem
