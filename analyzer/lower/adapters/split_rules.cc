#include "analyzer/lower/adapters/split_rules.h"

#include <algorithm>
#include <array>

#include "absl/types/span.h"
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

// Where the split is among `to`, dimensions of one product, which `before` pieces come in front of.
std::optional<OutputSplit> Placed(absl::Span<const int64_t> to, int64_t before, int64_t ranks) {
  int64_t passed = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 1 && i + 1 < to.size()) continue;
    if (passed * to[i] <= before && before > passed) {
      passed *= to[i];
      continue;
    }
    const int64_t pieces = before / passed;
    const bool even = before % passed == 0 && to[i] % (pieces * ranks) == 0;
    return even ? std::optional<OutputSplit>({static_cast<int>(i), pieces}) : std::nullopt;
  }
  return std::nullopt;
}

// The dimensions of both shapes fall into groups of one product each. The split stays in its group: in the dimension
// that as many pieces come in front of, which the ranks share out evenly: heads, or rows.
std::optional<OutputSplit> Regroup(const SplitCall& call) {
  const Dims &from = call.input(0), &to = call.output();
  const auto axis = static_cast<size_t>(call.axes[0]);
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const size_t first_from = i, first_to = j;
    int64_t a = from[i++], b = to[j++];
    while (a != b) {
      if (a < b ? i == from.size() : j == to.size()) return std::nullopt;
      if (a < b) {
        a *= from[i++];
      } else {
        b *= to[j++];
      }
    }
    if (axis < first_from || axis >= i) continue;
    // As it was: shares may differ by a row.
    if (i - first_from == 1 && j - first_to == 1) return OutputSplit{static_cast<int>(first_to), call.pieces};
    int64_t before = call.pieces;
    for (size_t k = first_from; k < axis; ++k) before *= from[k];
    auto placed = Placed(absl::MakeConstSpan(to).subspan(first_to, j - first_to), before, call.ranks);
    if (placed) placed->axis += static_cast<int>(first_to);
    return placed;
  }
  return std::nullopt;
}

Split Permuted(const SplitCall& call) {
  const std::vector<int64_t> perm = IntsAttribute(call.node, "perm");
  const auto found = std::find(perm.begin(), perm.end(), call.axes[0]);
  return found == perm.end() ? kNoRow : Split(static_cast<int>(found - perm.begin()));
}

// Pieces along another dimension; or those of the split one, of which each rank has its share of every piece.
Split Pieces(const SplitCall& call) {
  const int axis = call.axes[0];
  if (NumDims(call.output()) == NumDims(call.input(0))) {
    if (At(call.output(), axis) == At(call.input(0), axis)) return axis;
    const bool shared = std::all_of(call.node.outputs.begin(), call.node.outputs.end(), [&](TensorId id) {
      return !id.valid() || At(call.graph.tensors[id].shape.dims, axis) % call.ranks == 0;
    });
    return call.pieces > 1 && shared ? Split(axis) : kNoRow;
  }
  const int taken = AxisAttribute(call, "axis", 0);
  if (taken == axis) return kNoRow;
  return taken < axis ? axis - 1 : axis;
}

bool TakesPieces(const SplitCall& call, int axis) {
  if (!IsView(call.node.op) || call.node.op == "expand" || NumDims(call.output()) != NumDims(call.input(0)))
    return false;
  return call.node.op != "permute" && At(call.output(), axis) != At(call.input(0), call.axes[0]);
}

Split Viewed(const SplitCall& call) {
  const OpName& op = call.node.op;
  if (op == "permute") return Permuted(call);
  if (op == "expand") return Broadcast(call);
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

// What is added to the scores is split as they are, or one for all of that dimension.
bool MaskFollows(const SplitCall& call) {
  if (call.axes.size() <= kMaskOfAttention || !call.node.inputs[kMaskOfAttention].valid()) return true;
  const Dims& mask = call.input(kMaskOfAttention);
  const int axis = call.axes[0] - (NumDims(call.input(0)) - NumDims(mask));
  const bool whole = axis < 0 || At(mask, axis) == 1;
  return call.axes[kMaskOfAttention] == (whole ? kWhole : axis);
}

// Of batches and heads.
Split Attention(const SplitCall& call) {
  for (size_t i = 1; i < 3; ++i) {
    if (call.axes[i] != call.axes[0]) return kNoRow;
  }
  if (call.axes[0] < 0 || call.axes[0] >= NumDims(call.input(0)) - 2) return kNoRow;
  return MaskFollows(call) ? Split(call.axes[0]) : kNoRow;
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

std::optional<OutputSplit> SplitOfOutputs(const SplitCall& call) {
  const OpName& op = call.node.op;
  if (std::all_of(call.axes.begin(), call.axes.end(), [](int axis) { return axis == kWhole; })) return OutputSplit();
  if (op == "reshape" || op == "unsafe_view" || op == "squeeze" || op == "unsqueeze") return split::Regroup(call);
  const auto row = std::find_if(split::kRows.begin(), split::kRows.end(),
                                [&](const split::SplitRow& each) { return each.family == FactsOf(op).family; });
  const split::Split axis = row == split::kRows.end() ? split::kNoRow : row->rule(call);
  if (!axis) return std::nullopt;
  return OutputSplit{*axis, split::TakesPieces(call, *axis) ? 1 : call.pieces};
}

size_t OutputAxisOf(const FrameworkNode& product) {
  if (product.op == "linear") return IntAttribute(product, "transposed", 0) != 0 ? 1 : 0;
  return IntAttribute(product, "trans_b", 0) != 0 ? 0 : 1;
}

}  // namespace onnx_mem
