#include "analyzer/onnx/rebatch/rule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// Adds a wish for those dims of input `i` that are wanted and not yet scaled; with `of_size_one` only those whose
// exported size is 1, else only the others.
void AddWish(const BatchSite& site, size_t i, const Traces& wanted, bool of_size_one, Ones ones,
             std::vector<SizeWish>& wishes) {
  const Operand& operand = InputAt(site, i);
  SizeWish wish{.input = static_cast<int>(i), .dims = Traces(operand.base.rank()), .ones = ones};
  bool any = false;
  for (size_t d = 0; d < wish.dims.size() && d < wanted.size(); ++d) {
    if (!wanted[d].any() || operand.traces[d].any() || (operand.base.dims[d] == 1) != of_size_one) continue;
    wish.dims[d] = wanted[d];
    any = true;
  }
  if (any) wishes.push_back(std::move(wish));
}

const BatchRow* RowOf(const onnx::NodeProto& node) {
  static const auto& rows = *[] {
    auto* map = new absl::flat_hash_map<std::string_view, const BatchRow*>;
    for (const auto& family : {BroadcastingRows(), IndexingRows(), LayoutRows(), SizeRows()}) {
      for (const BatchRow& row : family) map->emplace(row.op, &row);
    }
    return map;
  }();
  const bool quantized = node.domain() == "com.microsoft" && node.op_type().starts_with("QLinear");
  if (!node.domain().empty() && node.domain() != "ai.onnx" && !quantized) return nullptr;
  const auto it = rows.find(node.op_type());
  return it == rows.end() ? nullptr : it->second;
}

// A Gather or Slice that picks one element of the dim: x[:, 0], x[:, -1:].
bool PicksOne(const BatchSite& site) {
  const Operand& out = site.outputs[0];
  const Operand& data = InputAt(site, 0);
  if (!Known(out) || !Known(data)) return false;
  if (site.node.op_type() == "Gather") {
    const Operand& indices = InputAt(site, 1);
    return Known(indices) && NumElements(indices.base) == 1;
  }
  for (size_t d = 0; d < data.base.rank(); ++d) {
    if (data.traces[d].any() && (d >= out.base.rank() || out.base.dims[d] != 1)) return false;
  }
  return true;
}

}  // namespace

const Operand& InputAt(const BatchSite& site, size_t i) {
  static const Operand kAbsent;
  return i < site.inputs.size() ? site.inputs[i] : kAbsent;
}

std::optional<int64_t> IntOf(const BatchSite& site, std::string_view name) {
  for (const auto& attribute : site.node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return std::nullopt;
}

const std::vector<int64_t>* IntsAt(const BatchSite& site, size_t i) {
  const Operand& operand = InputAt(site, i);
  return operand.base_contents != nullptr ? operand.base_contents->ints() : nullptr;
}

std::optional<size_t> Axis(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

Trace FollowsAlready(const Operand& operand, size_t e, const Variables& variables) {
  const auto* before = operand.base_contents ? operand.base_contents->ints() : nullptr;
  const auto* now = operand.contents ? operand.contents->ints() : nullptr;
  if (before == nullptr || now == nullptr || e >= before->size() || e >= now->size()) return {};
  return TraceOf((*before)[e], (*now)[e], variables).value_or(Trace());
}

Ruling NotUnderstood() { return {.edits = {}, .wishes = {}, .alternatives = {}, .understood = false}; }

void WishFor(const BatchSite& site, size_t i, const Traces& wanted, Ruling& ruling, Ones ones) {
  AddWish(site, i, wanted, /*of_size_one=*/false, ones, ruling.wishes);
  AddWish(site, i, wanted, /*of_size_one=*/true, ones, ruling.wishes);
}

Ruling OrNotUnderstood(Ruling ruling) {
  return ruling.edits.empty() && ruling.wishes.empty() && ruling.alternatives.empty() ? NotUnderstood() : ruling;
}

Traces Aligned(const Operand& operand, const Dims& shape, const Traces& wanted, size_t skip) {
  Traces dims(operand.base.rank());
  for (size_t back = skip + 1; back <= std::min(operand.base.rank(), shape.size()); ++back) {
    const size_t d = operand.base.rank() - back;
    const size_t w = shape.size() - back;
    if (operand.base.dims[d] == shape[w]) dims[d] = wanted[w];
  }
  return dims;
}

void AskAligned(const BatchSite& site, size_t i, const Traces& wanted, Ruling& ruling) {
  AddWish(site, i, wanted, /*of_size_one=*/false, Ones::kBroadcast, ruling.wishes);
  AddWish(site, i, wanted, /*of_size_one=*/true, Ones::kBroadcast, ruling.alternatives);
}

Ruling FollowBatch(const BatchSite& site) {
  const BatchRow* row = RowOf(site.node);
  return row == nullptr || row->follow == nullptr || site.outputs.empty() ? Ruling() : row->follow(site);
}

Ruling GrantBatch(const BatchSite& site, int output) {
  const BatchRow* row = RowOf(site.node);
  return row == nullptr || row->grant == nullptr ? NotUnderstood() : row->grant(site, output);
}

bool MayDropBatch(const BatchSite& site) {
  constexpr auto kReducers = std::to_array<std::string_view>({"ArgMax", "ArgMin", "GlobalAveragePool", "GlobalLpPool",
                                                              "GlobalMaxPool", "NegativeLogLikelihoodLoss", "Shape",
                                                              "Size", "SoftmaxCrossEntropyLoss", "TopK"});
  const std::string& op = site.node.op_type();
  if (op.rfind("Reduce", 0) == 0 || std::binary_search(kReducers.begin(), kReducers.end(), op)) return true;
  if (op == "Gather" || op == "Slice") return PicksOne(site);
  // A contraction over the scaled dim of both operands: statistics over the batch, a product over the sequence.
  if (op == "MatMul" || op == "Gemm" || op == "Einsum") {
    return AnyScaled(InputAt(site, 0).traces) && AnyScaled(InputAt(site, 1).traces);
  }
  return false;
}

}  // namespace onnx_mem
