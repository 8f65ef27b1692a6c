// dynamo exports name the ATen call that every node belongs to. All nodes of one call are one framework operator, and
// what it saves is that operator's: the group is put back together. One row per ATen operator that exporters decompose.
//
//   div, erf, add, mul, mul of "gelu#gelu_3"  ->  gelu(x)
//
// Calls whose nodes the table already turns into the right operator have no row.
#include <algorithm>
#include <array>
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
  kInPlace,  // the first tensor that it reads, written into: functional form of x[a:b] = y
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
    {"instance_norm", "instance_norm", GroupKind::kNorm},
    {"layer_norm", "layer_norm", GroupKind::kNorm},
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
    {"native_group_norm", "group_norm", GroupKind::kNorm},
    {"native_layer_norm", "layer_norm", GroupKind::kNorm},
    {"pixel_shuffle", "pixel_shuffle", GroupKind::kUnary},
    {"pixel_unshuffle", "pixel_unshuffle", GroupKind::kUnary},
    {"remainder", "remainder_scalar", GroupKind::kUnary},
    {"repeat", "repeat", GroupKind::kUnary},
    {"repeat_interleave", "repeat", GroupKind::kUnary},
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

// Attributes of the one operator, from the nodes that it was decomposed into.
void ReadAttributes(const Draft& draft, const Group& group, FrameworkNode& fused) {
  for (NodeId id : group.nodes) {
    const FrameworkNode& node = draft.node(id);
    if (node.op == "tanh" && fused.op == "gelu") fused.attributes["approximate"] = std::string("tanh");
    if (node.op == "instance_norm" && fused.op == "group_norm") {
      const Dims& dims = draft.tensor(node.inputs[0]).shape.dims;
      if (dims.size() > 1) fused.attributes["groups"] = dims[1];
    }
    for (std::string_view name : {"axes", "axis", "keepdim", "groups"}) {
      auto it = node.attributes.find(name);
      if (it != node.attributes.end() && node.op != "reshape") fused.attributes.insert_or_assign(it->first, it->second);
    }
  }
  const auto rank = static_cast<int64_t>(draft.tensor(fused.inputs[0]).shape.rank());
  if (!fused.attributes.contains("axes")) fused.attributes.try_emplace("axis", rank - 1);
  if (fused.op == "gelu") fused.attributes.try_emplace("approximate", std::string("none"));
}

// A write into the first tensor that has the result's shape; what is written stands beside it, unless it is numbers.
void MakeWrite(const Draft& draft, const Group& group, FrameworkNode& fused) {
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

// var(x) beside mean(x): the exporter made the mean in it one with the code's own.
void DropMergedMean(const Draft& draft, TensorIds& inputs) {
  const auto is_mean = [&](TensorId id) {
    const NodeId maker = draft.producer(id);
    return maker.valid() && draft.node(maker).op == "mean" && draft.node(maker).inputs[0] == inputs[0];
  };
  if (inputs.size() == 2 && is_mean(inputs[1])) inputs.pop_back();
}

// The one operator that the group was; false where the group is not what its row expects.
bool MakeFused(const Draft& draft, const GroupRow& row, Group& group, FrameworkNode& fused) {
  fused.op = row.framework;
  if (group.outputs.size() != 1) return false;
  fused.outputs = group.outputs;
  switch (row.kind) {
    case GroupKind::kUnary:
      std::copy_if(group.inputs.begin(), group.inputs.end(), std::back_inserter(fused.inputs),
                   [&](TensorId id) { return !IsStored(draft, id) || group.inputs.size() == 1; });
      DropMergedMean(draft, fused.inputs);
      if (fused.inputs.size() != 1) return false;
      break;
    case GroupKind::kNorm: fused.inputs = NormOperands(draft, group); break;
    case GroupKind::kAll:
      fused.inputs = group.inputs;
      if (row.framework == "masked_fill") {  // a where reads the mask first
        std::stable_partition(fused.inputs.begin(), fused.inputs.end(),
                              [&](TensorId id) { return draft.tensor(id).dtype != DType::kBool; });
      }
      break;
    case GroupKind::kInPlace: MakeWrite(draft, group, fused); break;
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
    FrameworkNode fused;
    if (group.outputs.empty() || !MakeFused(draft, row, group, fused)) continue;
    const Rank rank = draft.rank(group.nodes.back());
    Replace(draft, group.nodes, std::move(fused), rank);
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
