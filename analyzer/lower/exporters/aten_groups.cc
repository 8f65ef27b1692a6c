// dynamo exports name the ATen call that every node belongs to. All nodes of one call are one framework operator, and
// what it saves is that operator's: the group is put back together. One row per ATen operator that exporters decompose.
//
//   div, erf, add, mul, mul of "gelu#gelu_3"  ->  gelu(x)
//
// Calls whose nodes the table already turns into the right operator have no row.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

enum class GroupKind {
  kUnary,    // one tensor in, one out
  kNorm,     // a tensor and its stored scale and shift in, one out
  kAll,      // everything that the group reads, in the order in which it reads it
  kIndexed,  // the indexed tensor, the values that are put there, and then the indices
  kAddend,   // everything that it reads, what its last node reads before the rest
  kInPlace,  // the first tensor that it reads, written into: functional form of x[a:b] = y
  kUnbind,   // one tensor in, its slices along an axis out
  kComplex,  // everything that it reads, if a tensor of it has pairs where the call's other side has numbers
};

struct GroupRow {
  std::string_view aten;
  std::string_view framework;
  GroupKind kind;
};

constexpr auto kGroups = std::to_array<GroupRow>({
    {"_fft_c2c", "fft_c2c", GroupKind::kUnary},
    {"_fft_c2r", "fft_c2r", GroupKind::kUnary},
    {"_fft_r2c", "fft_r2c", GroupKind::kUnary},
    {"_fused_rms_norm", "rms_norm", GroupKind::kNorm},
    {"_safe_softmax", "softmax", GroupKind::kUnary},
    {"_to_copy", "to_complex", GroupKind::kComplex},
    {"abs", "complex_abs", GroupKind::kComplex},
    {"addcmul", "addcmul", GroupKind::kAddend},
    {"all", "all", GroupKind::kUnary},
    {"any", "any", GroupKind::kUnary},
    {"celu", "celu", GroupKind::kUnary},
    {"col2im", "col2im", GroupKind::kUnary},
    {"cumsum", "cumsum", GroupKind::kUnary},
    {"diagonal", "diagonal", GroupKind::kUnary},
    {"elu", "elu", GroupKind::kUnary},
    {"exp2", "exp2", GroupKind::kUnary},
    {"expm1", "expm1", GroupKind::kUnary},
    {"flip", "flip", GroupKind::kUnary},
    {"frac", "frac", GroupKind::kUnary},
    {"gelu", "gelu", GroupKind::kUnary},
    {"glu", "glu", GroupKind::kUnary},
    {"group_norm", "group_norm", GroupKind::kNorm},
    {"hardsigmoid", "hardsigmoid", GroupKind::kUnary},
    {"hardswish", "hardswish", GroupKind::kUnary},
    {"im2col", "im2col", GroupKind::kUnary},
    {"index", "index", GroupKind::kIndexed},
    {"index_put", "index_put", GroupKind::kIndexed},
    {"instance_norm", "instance_norm", GroupKind::kNorm},
    {"layer_norm", "layer_norm", GroupKind::kNorm},
    {"linalg_vector_norm", "norm", GroupKind::kUnary},
    {"log10", "log10", GroupKind::kUnary},
    {"log1p", "log1p", GroupKind::kUnary},
    {"log2", "log2", GroupKind::kUnary},
    {"log_sigmoid", "logsigmoid", GroupKind::kUnary},
    {"logaddexp", "logaddexp", GroupKind::kAll},
    {"logcumsumexp", "logcumsumexp", GroupKind::kUnary},
    {"logdet", "logdet", GroupKind::kUnary},
    {"logit", "logit", GroupKind::kUnary},
    {"logsumexp", "logsumexp", GroupKind::kUnary},
    {"masked_fill", "masked_fill", GroupKind::kAll},
    {"mish", "mish", GroupKind::kUnary},
    {"mul", "complex_mul", GroupKind::kComplex},
    {"native_group_norm", "group_norm", GroupKind::kNorm},
    {"native_layer_norm", "layer_norm", GroupKind::kNorm},
    {"pixel_shuffle", "pixel_shuffle", GroupKind::kUnary},
    {"pixel_unshuffle", "pixel_unshuffle", GroupKind::kUnary},
    {"remainder", "remainder_scalar", GroupKind::kUnary},
    {"repeat", "repeat", GroupKind::kUnary},
    {"rms_norm", "rms_norm", GroupKind::kNorm},
    {"roll", "roll", GroupKind::kUnary},
    {"rsqrt", "rsqrt", GroupKind::kUnary},
    {"select_scatter", "identity", GroupKind::kInPlace},
    {"selu", "selu", GroupKind::kUnary},
    {"silu", "silu", GroupKind::kUnary},
    {"slice_scatter", "identity", GroupKind::kInPlace},
    {"softplus", "softplus", GroupKind::kUnary},
    {"std", "std", GroupKind::kUnary},
    {"trunc", "trunc", GroupKind::kUnary},
    {"unbind", "unbind", GroupKind::kUnbind},
    {"unfold", "unfold", GroupKind::kUnary},
    {"var", "var", GroupKind::kUnary},
});

const GroupRow* FindGroupRow(std::string_view framework_op) {
  const std::string_view aten = framework_op.substr(0, framework_op.find('#'));
  auto it = std::lower_bound(kGroups.begin(), kGroups.end(), aten,
                             [](const GroupRow& row, std::string_view name) { return row.aten < name; });
  return it != kGroups.end() && it->aten == aten ? &*it : nullptr;
}

// The nodes of one call, with what crosses its border.
struct Group {
  NodeIds nodes;
  TensorIds inputs;   // read by the group, made outside
  TensorIds outputs;  // made by the group, read outside
};

void FindBorder(const Draft& draft, Group& group) {
  const absl::flat_hash_set<NodeId> members(group.nodes.begin(), group.nodes.end());
  for (NodeId id : group.nodes) {
    for (TensorId input : draft.node(id).inputs) {
      if (!input.valid() || members.contains(draft.producer(input))) continue;
      if (std::find(group.inputs.begin(), group.inputs.end(), input) == group.inputs.end())
        group.inputs.push_back(input);
    }
    for (TensorId output : draft.node(id).outputs) {
      if (!output.valid()) continue;
      const NodeIds& readers = draft.readers(output);
      const bool outside = std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !members.contains(r); });
      if (outside || draft.IsOutput(output)) group.outputs.push_back(output);
    }
  }
}

bool IsStored(const Draft& draft, TensorId id) {
  return !draft.producer(id).valid() && draft.kind(id) != TensorKind::kInput;
}

// A GroupNorm's scale or shift, which the exporter stores as val_28[C, 1] to multiply it onto the result of the
// InstanceNormalization that it writes; that operator's own scale and shift are ones and zeros made up for it.
bool IsReshapedAffine(const Draft& draft, TensorId id) {
  const Dims& dims = draft.tensor(id).shape.dims;
  const NodeIds& readers = draft.readers(id);
  return dims.size() > 1 && dims[0] > 1 &&
         std::all_of(dims.begin() + 1, dims.end(), [](int64_t d) { return d == 1; }) &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return draft.node(reader).op == "mul" || draft.node(reader).op == "add"; });
}

// x, then the stored tensors that the module owns; constants that the exporter made up are left out.
TensorIds NormOperands(const Draft& draft, const Group& group) {
  TensorIds operands, affine;
  for (TensorId input : group.inputs) {
    if (!IsStored(draft, input)) {
      operands.push_back(input);
    } else if (!IsExporterName(draft.tensor(input).name) || IsReshapedAffine(draft, input)) {
      affine.push_back(input);
    }
  }
  if (operands.size() != 1) return {};
  operands.insert(operands.end(), affine.begin(), affine.end());
  return operands;
}

// The order of a norm that is spelled out: a maximum, or a root of powers.
void ReadNormOrder(const Draft& draft, const Group& group, Node& fused) {
  for (NodeId id : group.nodes) {
    const Node& node = draft.node(id);
    if (node.op == "amax" || node.op == "max_dim") fused.attributes["p"] = std::numeric_limits<double>::infinity();
    if (node.op == "pow_scalar" && !fused.attributes.contains("p")) {
      fused.attributes["p"] = FloatAttribute(node, "exponent", 2.0);
    }
  }
}

// Attributes of the one operator, from the nodes that it was decomposed into.
void ReadAttributes(const Draft& draft, const Group& group, Node& fused) {
  for (NodeId id : group.nodes) {
    const Node& node = draft.node(id);
    if (node.op == "tanh" && fused.op == "gelu") fused.attributes["approximate"] = std::string("tanh");
    if (node.op == "instance_norm" && fused.op == "group_norm") {
      const Dims& dims = draft.tensor(node.inputs[0]).shape.dims;
      if (dims.size() > 1) fused.attributes["groups"] = dims[1];
    }
    for (std::string_view name : {"axes", "axis", "keepdim", "p", "groups", "accumulate"}) {
      auto it = node.attributes.find(name);
      if (it != node.attributes.end() && node.op != "reshape") fused.attributes.insert_or_assign(it->first, it->second);
    }
  }
  const auto rank = static_cast<int64_t>(draft.tensor(fused.inputs[0]).shape.rank());
  if (!fused.attributes.contains("axes")) fused.attributes.try_emplace("axis", rank - 1);
  if (fused.op == "norm") ReadNormOrder(draft, group, fused);
  if (fused.op == "index_put" && IntAttribute(fused, "accumulate", 0) != 0 && fused.inputs.size() == 3) {
    fused.op = "index_add";  // what index_add decomposes into
    std::swap(fused.inputs[1], fused.inputs[2]);
  }
  if (fused.op == "gelu") fused.attributes.try_emplace("approximate", std::string("none"));
}

// unbind: its slices in order, by where each begins; pieces that nobody reads have no tensor.
bool MakeUnbind(const Draft& draft, const Group& group, Node& fused) {
  if (group.inputs.size() != 1) return false;
  const Shape& shape = draft.tensor(group.inputs[0]).shape;
  std::map<int64_t, TensorId> pieces;
  int64_t axis = -1;
  for (TensorId output : group.outputs) {
    NodeId id = draft.producer(output);
    if (draft.node(id).op == "squeeze") id = draft.producer(draft.node(id).inputs[0]);
    if (!id.valid()) return false;
    const Node& node = draft.node(id);
    int64_t index = -1;
    if (node.op == "select") {
      axis = IntAttribute(node, "axis", 0);
      index = IntAttribute(node, "index", 0);
    } else if (node.op == "slice" && IntsAttribute(node, "axes").size() == 1) {
      axis = IntsAttribute(node, "axes")[0];
      index = IntsAttribute(node, "starts")[0];
    } else if (node.op == "split") {
      axis = IntAttribute(node, "axis", 0);
      const TensorId piece = draft.node(draft.producer(output)).inputs[0];
      index = std::find(node.outputs.begin(), node.outputs.end(), piece) - node.outputs.begin();
    } else {
      return false;
    }
    pieces[index] = output;
  }
  if (axis < 0 || axis >= static_cast<int64_t>(shape.rank())) return false;
  fused.inputs = group.inputs;
  fused.attributes["axis"] = axis;
  const int64_t count = shape.dims[static_cast<size_t>(axis)];
  if (count <= 0 || count > 4096 || pieces.rbegin()->first >= count) return false;
  fused.outputs.assign(static_cast<size_t>(count), TensorId());
  for (auto [index, output] : pieces) fused.outputs[static_cast<size_t>(index)] = output;
  return true;
}

// A write into the first tensor that has the result's shape; what is written stands beside it, unless it is numbers.
void MakeWrite(const Draft& draft, const Group& group, Node& fused) {
  const Tensor& result = draft.tensor(group.outputs[0]);
  TensorId written;
  for (TensorId input : group.inputs) {
    if (IsStored(draft, input)) continue;
    const Tensor& tensor = draft.tensor(input);
    if (fused.inputs.empty() && tensor.shape == result.shape) {
      fused.inputs.push_back(input);
    } else if (!written.valid() && tensor.dtype == result.dtype && tensor.shape.rank() > 0) {
      written = input;
    }
  }
  if (fused.inputs.empty() || !written.valid()) return;
  fused.op = "copy_into";
  fused.inputs.push_back(written);
}

// Through the views inside a group, the tensor at its border that `id` is of.
TensorId AtBorder(const Draft& draft, const Group& group, TensorId id) {
  while (id.valid() && std::find(group.inputs.begin(), group.inputs.end(), id) == group.inputs.end()) {
    const NodeId producer = draft.producer(id);
    if (!producer.valid() || draft.node(producer).inputs.empty()) return TensorId();
    id = draft.node(producer).inputs[0];
  }
  return id;
}

// x[i, j] and x[i, j] = y: the operands of the one node that indexes, traced to the border, before the indices.
bool OrderIndexed(const Draft& draft, const GroupRow& row, Group& group) {
  for (NodeId id : group.nodes) {
    const Node& node = draft.node(id);
    if (node.op != row.framework && node.op != "index_select") continue;
    TensorIds ordered = {AtBorder(draft, group, node.inputs[0])};
    if (row.framework == "index_put") ordered.push_back(AtBorder(draft, group, node.inputs[1]));
    for (TensorId input : group.inputs) {
      if (std::find(ordered.begin(), ordered.end(), input) == ordered.end()) ordered.push_back(input);
    }
    group.inputs = std::move(ordered);
    // An index of numbers alone is made within the group; the nodes stay as they are.
    const size_t fewest = row.framework == "index_put" ? 3 : 2;
    return group.inputs.size() >= fewest && group.inputs[0].valid();
  }
  return false;
}

bool IsPairs(const Draft& draft, TensorId id) {
  const Dims& dims = draft.tensor(id).shape.dims;
  return !dims.empty() && dims.back() == 2;
}

// Exporters write complex numbers as pairs: x.to(complex) joins zeros to x, |z| is the norm of the pairs, a product of
// two is made of four. The same calls on real tensors are single nodes or have other shapes.
bool IsComplexCall(const Draft& draft, const GroupRow& row, const Group& group) {
  const size_t rank = draft.tensor(group.outputs[0]).shape.rank();
  const auto rank_is = [&](size_t i, size_t r) { return draft.tensor(group.inputs[i]).shape.rank() == r; };
  const OpName last = draft.node(group.nodes.back()).op;
  if (row.framework == "complex_mul") {
    return group.inputs.size() == 2 && last == "cat" && group.nodes.size() == 11 && IsPairs(draft, group.inputs[0]) &&
           IsPairs(draft, group.inputs[1]) && IsPairs(draft, group.outputs[0]);
  }
  if (group.inputs.empty()) return false;
  if (row.framework == "to_complex") return last == "cat" && rank_is(0, rank - 1) && IsPairs(draft, group.outputs[0]);
  return last == "norm" && rank_is(0, rank + 1) && IsPairs(draft, group.inputs[0]);
}

// The one operator that the group was; false where the group is not what its row expects.
bool MakeFused(const Draft& draft, const GroupRow& row, Group& group, Node& fused) {
  fused.op = row.framework;
  if (row.kind == GroupKind::kUnbind) return MakeUnbind(draft, group, fused);
  if (group.outputs.size() != 1) return false;
  fused.outputs = group.outputs;
  switch (row.kind) {
    case GroupKind::kUnary:
      std::copy_if(group.inputs.begin(), group.inputs.end(), std::back_inserter(fused.inputs),
                   [&](TensorId id) { return !IsStored(draft, id) || group.inputs.size() == 1; });
      if (fused.inputs.size() != 1) return false;
      break;
    case GroupKind::kNorm: fused.inputs = NormOperands(draft, group); break;
    case GroupKind::kIndexed:
      if (!OrderIndexed(draft, row, group)) return false;
      fused.inputs = group.inputs;
      break;
    case GroupKind::kAll:
      fused.inputs = group.inputs;
      if (row.framework == "masked_fill") {  // a where reads the mask first
        std::stable_partition(fused.inputs.begin(), fused.inputs.end(),
                              [&](TensorId id) { return draft.tensor(id).dtype != DType::kBool; });
      }
      break;
    case GroupKind::kAddend: {
      const TensorIds& last = draft.node(group.nodes.back()).inputs;
      fused.inputs = group.inputs;
      std::stable_partition(fused.inputs.begin(), fused.inputs.end(),
                            [&](TensorId id) { return std::find(last.begin(), last.end(), id) != last.end(); });
      if (fused.inputs.size() != 3) return false;
      break;
    }
    case GroupKind::kInPlace: MakeWrite(draft, group, fused); break;
    case GroupKind::kComplex:
      if (!IsComplexCall(draft, row, group)) return false;
      fused.inputs = group.inputs;
      if (row.framework != "complex_mul") fused.inputs.resize(1);
      break;
    case GroupKind::kUnbind: break;
  }
  if (fused.inputs.empty()) return false;
  ReadAttributes(draft, group, fused);
  return true;
}

}  // namespace

int64_t FuseAtenGroups(Lowering& lowering) {
  Draft& draft = lowering.draft;
  std::vector<std::string> order;
  std::map<std::string, Group> groups;
  for (NodeId id : draft.InOrder()) {
    const std::string& call = draft.node(id).framework_op;
    if (call.empty() || FindGroupRow(call) == nullptr) continue;
    Group& group = groups[call];
    if (group.nodes.empty()) order.push_back(call);
    group.nodes.push_back(id);
  }
  int64_t count = 0;
  for (const std::string& call : order) {
    Group& group = groups[call];
    const GroupRow& row = *FindGroupRow(call);
    if (group.nodes.size() == 1 && draft.node(group.nodes[0]).op == row.framework) continue;
    FindBorder(draft, group);
    Node fused;
    if (group.outputs.empty() || !MakeFused(draft, row, group, fused)) continue;
    const bool first = row.kind == GroupKind::kUnbind;
    const Rank rank = draft.rank(first ? group.nodes.front() : group.nodes.back());
    Replace(draft, group.nodes, std::move(fused), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
