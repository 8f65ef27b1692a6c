#include "analyzer/lower/adapters/split_rules.h"

#include <algorithm>
#include <array>

#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace split {

using Split = std::optional<int>;
constexpr Split kNoRow = std::nullopt;

int NumDims(const Dims& dims) { return static_cast<int>(dims.size()); }
int64_t At(const Dims& dims, int axis) { return dims[static_cast<size_t>(axis)]; }

// An attribute that counts from the end where it is negative.
int AxisAttribute(const SplitCall& call, std::string_view name, int64_t fallback) {
  const int64_t axis = IntAttribute(call.node, name, fallback);
  return static_cast<int>(axis < 0 ? axis + NumDims(call.input(0)) : axis);
}

Split Same(const SplitCall& call) { return call.input(0) == call.output() ? Split(call.axes[0]) : kNoRow; }

// Dimensions are aligned at the last one. What is not split has the dimension once, or not at all.
Split Broadcast(const SplitCall& call) {
  const int rank = NumDims(call.output());
  int split = kWhole;
  for (size_t i = 0; i < call.axes.size(); ++i) {
    if (call.axes[i] == kWhole) continue;
    const int axis = call.axes[i] + rank - NumDims(call.input(i));
    if (split != kWhole && split != axis) return kNoRow;
    split = axis;
  }
  for (size_t i = 0; i < call.axes.size(); ++i) {
    if (call.axes[i] != kWhole || !call.node.inputs[i].valid()) continue;
    const int axis = split - (rank - NumDims(call.input(i)));
    if (axis >= 0 && At(call.input(i), axis) != 1) return kNoRow;
  }
  return split;
}

// The dimensions of both shapes fall into groups of one product each. The split passes from a dimension to the first of
// its group, which the ranks share out evenly: heads, or rows.
Split Regroup(const SplitCall& call) {
  const Dims &from = call.input(0), &to = call.output();
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const size_t first_from = i, first_to = j;
    int64_t a = from[i++], b = to[j++];
    while (a != b) {
      if (a < b ? i == from.size() : j == to.size()) return kNoRow;
      if (a < b) {
        a *= from[i++];
      } else {
        b *= to[j++];
      }
    }
    const auto axis = static_cast<size_t>(call.axes[0]);
    if (axis < first_from || axis >= i) continue;
    size_t target = first_to;
    while (target + 1 < j && to[target] == 1) ++target;
    return to[target] % call.ranks == 0 ? Split(static_cast<int>(target)) : kNoRow;
  }
  return kNoRow;
}

Split Permuted(const SplitCall& call) {
  const std::vector<int64_t> perm = IntsAttribute(call.node, "perm");
  const auto found = std::find(perm.begin(), perm.end(), call.axes[0]);
  return found == perm.end() ? kNoRow : Split(static_cast<int>(found - perm.begin()));
}

// Pieces along another dimension.
Split Pieces(const SplitCall& call) {
  const int axis = call.axes[0];
  if (NumDims(call.output()) == NumDims(call.input(0))) {
    return At(call.output(), axis) == At(call.input(0), axis) ? Split(axis) : kNoRow;
  }
  const int taken = AxisAttribute(call, "axis", 0);
  if (taken == axis) return kNoRow;
  return taken < axis ? axis - 1 : axis;
}

Split Viewed(const SplitCall& call) {
  const OpName& op = call.node.op;
  if (op == "permute") return Permuted(call);
  if (op == "expand") return Broadcast(call);
  if (op == "reshape" || op == "unsafe_view" || op == "squeeze" || op == "unsqueeze") return Regroup(call);
  if (op == "slice" || op == "select" || op == "split" || op == "unbind") return Pieces(call);
  if (op == "as_strided" || op == "unfold" || op == "diagonal" || op == "view_dtype" || op == "overwrite")
    return kNoRow;
  return Same(call);
}

Split Product(const SplitCall& call) {
  const int rank = NumDims(call.input(0)), last = rank - 1;
  const int a = call.axes[0], b = call.axes[1];
  if (NumDims(call.input(1)) > 2) {  // one product for each of the leading dimensions
    const bool leading = a == b && a < last - 1 && NumDims(call.input(1)) == rank;
    return leading ? Split(a) : kNoRow;
  }
  if (b == kWhole) return a == last ? kNoRow : Split(a);
  if (b == static_cast<int>(OutputAxisOf(call.node))) return a == kWhole ? Split(NumDims(call.output()) - 1) : kNoRow;
  return a == last ? Split(kWhole) : kNoRow;
}

Split Normalized(const SplitCall& call) {
  if (!IsTokenNorm(call.node.op)) return kNoRow;
  return call.axes[0] < AxisAttribute(call, "axis", -1) ? Split(call.axes[0]) : kNoRow;
}

Split AlongOther(const SplitCall& call) {
  return AxisAttribute(call, "axis", -1) == call.axes[0] ? kNoRow : Split(call.axes[0]);
}

Split Reduced(const SplitCall& call) {
  std::vector<int64_t> axes = IntsAttribute(call.node, "axes");
  if (axes.empty() && call.node.attributes.contains("axis")) axes = {IntAttribute(call.node, "axis", 0)};
  if (axes.empty()) return kNoRow;
  const int rank = NumDims(call.input(0));
  int before = 0;
  for (const int64_t each : axes) {
    const int axis = static_cast<int>(each < 0 ? each + rank : each);
    if (axis == call.axes[0]) return kNoRow;
    if (axis < call.axes[0]) ++before;
  }
  return NumDims(call.output()) == rank ? call.axes[0] : call.axes[0] - before;
}

// Of batches and heads.
Split Attention(const SplitCall& call) {
  for (size_t i = 1; i < 3; ++i) {
    if (call.axes[i] != call.axes[0]) return kNoRow;
  }
  return call.axes[0] >= 0 && call.axes[0] < NumDims(call.input(0)) - 2 ? Split(call.axes[0]) : kNoRow;
}

Split Selected(const SplitCall& call) {
  if (call.node.op != "embedding") return kNoRow;
  if (call.axes[0] == 1) return NumDims(call.output()) - 1;
  return call.axes[0] == kWhole ? Split(call.axes[1]) : kNoRow;
}

Split Joined(const SplitCall& call) {
  if (call.node.op != "cat") return kNoRow;
  const bool alike = std::all_of(call.axes.begin(), call.axes.end(), [&](int axis) { return axis == call.axes[0]; });
  return alike ? AlongOther(call) : kNoRow;
}

struct SplitRow {
  OpFamily family;
  Split (*rule)(const SplitCall&);
};
constexpr auto kRows = std::to_array<SplitRow>({
    {OpFamily::kView, Viewed},
    {OpFamily::kUnary, Same},
    {OpFamily::kScalar, Same},
    {OpFamily::kDropout, Same},
    {OpFamily::kBinary, Broadcast},
    {OpFamily::kMatmul, Product},
    {OpFamily::kNorm, Normalized},
    {OpFamily::kSoftmax, AlongOther},
    {OpFamily::kReduce, Reduced},
    {OpFamily::kAttention, Attention},
    {OpFamily::kSelect, Selected},
    {OpFamily::kShape, Joined},
});

}  // namespace split

std::optional<int> SplitOfOutputs(const SplitCall& call) {
  if (std::all_of(call.axes.begin(), call.axes.end(), [](int axis) { return axis == kWhole; })) return kWhole;
  const auto row = std::find_if(split::kRows.begin(), split::kRows.end(), [&](const split::SplitRow& each) {
    return each.family == FactsOf(call.node.op).family;
  });
  return row == split::kRows.end() ? split::kNoRow : row->rule(call);
}

size_t OutputAxisOf(const FrameworkNode& product) {
  if (product.op == "linear") return IntAttribute(product, "transposed", 0) != 0 ? 1 : 0;
  return IntAttribute(product, "trans_b", 0) != 0 ? 0 : 1;
}

}  // namespace onnx_mem
