// Exporters fold a BatchNorm into the convolution before it (dynamo's into the linear layer too); a training run has
// it, and it saves its input. Where the file shows that there was one, it is put back: the convolution without the
// folded bias, then a batch_norm with a new scale and shift (parameters), running mean and variance and a counter
// (buffers).
//
//   conv(x, W', b') -> y       conv(x, W) -> t    batch_norm(t, scale, shift, mean, var) -> y
//
// Two operators, so that x may go before the batch_norm allocates. What shows it:
//   TorchScript   the folded weight and the new bias are named after their operator: "onnx::Conv_193", "onnx::Conv_194"
//   dynamo        the new bias is named "<weight>_bias", and the node belongs to an ATen batch norm. Of a model that
//                 was just made the shift is 0 and the bias gone too (lost_tensors.h). The call that the node carries
//                 and the program's signature name the norm's parameters and buffers, as far as it has them:
//
//   %_native_batch_norm_legit_functional : ...(args = (%conv2d, %p_bn1_weight, %p_bn1_bias, %b_bn1_running_mean, ...
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/module_path.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/lower/draft/transformer_parts.h"
#include "analyzer/lower/facts/lost_tensors.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// Without scale and shift (affine=False) or statistics (track_running_stats=False) where a norm has none.
struct FoldedNorm {
  TensorId scale, shift, mean, variance;
};

bool HasBias(const FrameworkNode& node) { return node.inputs.size() > 2 && node.inputs[2].valid(); }

bool HasInventedBias(const Draft& draft, const FrameworkNode& node) {
  return HasBias(node) && draft.tensor(node.inputs[2]).name == draft.tensor(node.inputs[1]).name + "_bias";
}

bool NamesBatchNorm(const FrameworkNode& node) { return absl::StrContains(node.framework_op, "batch_norm"); }

// The weight of several convolutions is folded once for all of them.
bool WasFolded(const Draft& draft, const FrameworkNode& node, BatchNormMode mode) {
  if (!IsConvolution(node.op) && !IsLinear(node.op)) return false;
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return false;
  // Dynamo's optimizer leaves the norm's call on the layer. It alone folds into linear layers.
  if (NamesBatchNorm(node)) return true;
  if (!IsConvolution(node.op) || !HasBias(node)) return false;
  if (mode == BatchNormMode::kUnfold) return true;
  const std::string& weight = draft.tensor(node.inputs[1]).name;
  const bool named = IsFoldedOperand(weight, "Conv") && IsFoldedBias(draft, node.inputs[2]);
  return named || HasInventedBias(draft, node);
}

// Channels of the result: its second dimension, whether the layer is a convolution or linear.
int64_t Channels(const Draft& draft, const FrameworkNode& node) {
  const Shape& bias = HasBias(node) ? draft.tensor(node.inputs[2]).shape : draft.tensor(node.outputs[0]).shape;
  if (HasBias(node)) return bias.rank() == 1 && bias.known() ? bias.dims[0] : 0;
  return bias.rank() > 1 ? std::max<int64_t>(bias.dims[1], 0) : 0;
}

// Names of all module calls.
std::set<std::string> CallsOf(const Draft& draft) {
  std::set<std::string> calls;
  for (NodeId id : draft.InOrder()) calls.insert(draft.node(id).calls.begin(), draft.node(id).calls.end());
  return calls;
}

// dynamo: the folded node carries the norm's scope; the convolution ran where its weight lives. conv1 of a model whose
// first block begins with a norm, blocks.0.bn1, runs outside of that block.
void GiveConvolutionItsModule(const Draft& draft, const std::set<std::string>& calls, FrameworkNode& conv) {
  const std::string& weight = draft.tensor(conv.inputs[1]).name;
  const size_t dot = weight.rfind('.');
  if (!NamesBatchNorm(conv) || dot == std::string::npos) return;
  conv.module = weight.substr(0, dot);
  size_t kept = 0;
  while (kept + 1 < conv.calls.size() && conv.module != conv.calls[kept] && IsAtOrBelow(conv.module, conv.calls[kept]))
    ++kept;
  if (!conv.calls.empty()) {
    size_t begin = kept == 0 ? 0 : conv.calls[kept - 1].size() + 1;
    conv.calls.resize(kept);
    for (begin = conv.module.find('.', begin); begin != std::string::npos; begin = conv.module.find('.', begin + 1)) {
      const std::string outer = conv.module.substr(0, begin);
      if (calls.contains(outer)) conv.calls.push_back(outer);
    }
    conv.calls.push_back(conv.module);
  }
  MoveCall(conv, kept, conv.calls.size());
  conv.framework_op = absl::StrCat(conv.framework_op, " conv");
}

// Module calls with layers inside, which are no activation functions.
std::set<std::string> Blocks(const Draft& draft) {
  std::set<std::string> blocks;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (IsConvolution(node.op) || IsLinear(node.op)) blocks.insert(node.calls.begin(), node.calls.end());
  }
  return blocks;
}

// Operators that activation functions are exported as: SiLU ends in a product.
bool Activates(const FrameworkNode& node) {
  return IsActivation(node.op) || node.op == "softplus" || node.op == "hardsigmoid" || node.op == "clamp" ||
         node.op == "mul";
}

// The call of a norm that activates too (timm's BatchNormAct2d), "x.bn" of "x.bn.act", wherever it stands. Empty if it
// is none.
std::vector<std::string> CallsOfNorm(const Draft& draft, const FrameworkNode& conv,
                                     const std::set<std::string>& blocks) {
  std::vector<std::string> norm;
  for (NodeId reader : draft.readers(conv.outputs[0])) {
    std::vector<std::string> calls = draft.node(reader).calls;
    if (calls.size() < 2) return {};
    calls.pop_back();
    const std::string name = calls.back().substr(calls.back().rfind('.') + 1);
    const bool is_norm = absl::StrContains(name, "bn") || absl::StrContains(name, "norm");
    const bool is_beside = calls.size() == conv.calls.size() &&
                           std::equal(calls.begin(), calls.end() - 1, conv.calls.begin()) &&
                           calls.back() != conv.calls.back();
    if (!is_beside && (!is_norm || blocks.contains(calls.back()) || !Activates(draft.node(reader)))) return {};
    if (!norm.empty() && norm != calls) return {};
    norm = std::move(calls);
  }
  return norm;
}

// TorchScript: the folded node carries the convolution's scope; the norm was another module.
void GiveNormItsModule(const Draft& draft, const std::set<std::string>& blocks, FrameworkNode& norm) {
  if (NamesBatchNorm(norm)) return;
  norm.name = absl::StrCat(norm.name, "/folded BatchNorm");
  std::vector<std::string> calls = CallsOfNorm(draft, norm, blocks);
  if (!calls.empty()) {
    norm.calls = std::move(calls);
    return;
  }
  if (!norm.calls.empty()) norm.calls.back() += "/folded BatchNorm";
}

std::set<std::string> ModulesOf(const Draft& draft) {
  std::set<std::string> modules;
  for (NodeId id : draft.InOrder()) {
    const std::string& module = draft.node(id).module;
    ForEachOuterModule(module, [&](std::string_view outer) { modules.emplace(outer); });
    modules.insert(module);
  }
  return modules;
}

// In an nn.Sequential the number that is missing behind the convolution's: d.0 of Conv d.0 and ReLU d.2 is d.1's. "" if
// the paths do not tell.
std::string MissingNumberBehind(const std::set<std::string>& modules, const std::string& conv) {
  const size_t dot = conv.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : conv.substr(0, dot + 1);
  int64_t number = 0;
  if (!absl::SimpleAtoi(conv.substr(parent.size()), &number)) return "";
  const std::string next = absl::StrCat(parent, number + 1);
  return modules.contains(next) || !modules.contains(absl::StrCat(parent, number + 2)) ? "" : next;
}

// A pad that the convolution does apart (the "same" of TensorFlow) runs in its module.
void MovePadWith(Draft& draft, const FrameworkNode& folded, const FrameworkNode& conv) {
  const NodeId pad = draft.ProducerIf(conv.inputs[0], "pad");
  if (!pad.valid() || draft.node(pad).name != folded.name || draft.node(pad).calls != folded.calls) return;
  FrameworkNode& node = draft.mutable_node(pad);
  node.scope() = conv.scope();
  KeepSourceTrace(conv, node);
}

// The batch norm that the layer carries as its call; without a name where the file says nothing of it.
FxCall NormCallOf(const Lowering& lowering, NodeId id) {
  const Node& source = lowering.source.nodes[NodeId(lowering.draft.rank(id).source)];
  FxCall call = FxCallOf(source);
  return IsBatchNormCall(call) ? call : FxCall();
}

FoldedNorm NewNorm(Lowering& lowering, const FrameworkNode& conv, int64_t channels) {
  Draft& draft = lowering.draft;
  const std::string base = conv.module.empty() ? conv.name : conv.module;
  const DType dtype = draft.tensor(conv.inputs[1]).dtype;
  auto stored = [&](std::string_view what, TensorKind kind) {
    return draft.NewTensor(absl::StrCat(base, ".batch_norm.", std::string(what)), dtype, Dims{channels}, kind);
  };
  lowering.hidden_buffer_bytes += 8;  // num_batches_tracked
  return {stored("weight", TensorKind::kParameter), stored("bias", TensorKind::kParameter),
          stored("running_mean", TensorKind::kBuffer), stored("running_var", TensorKind::kBuffer)};
}

// The same with the names of the program, and only what the norm has. `made` holds what other calls of it read.
FoldedNorm NamedNorm(Lowering& lowering, const FxCall& call, const FrameworkNode& conv, int64_t channels,
                     std::map<std::string, TensorId>& made) {
  const DType dtype = lowering.draft.tensor(conv.inputs[1]).dtype;
  const auto stored = [&](size_t argument) {
    const SignatureEntry* entry =
        argument < call.args.size() ? lowering.source.signature.FindPlaceholder(call.args[argument]) : nullptr;
    if (entry == nullptr) return TensorId();
    const auto [it, is_new] = made.try_emplace(entry->target);
    if (!is_new) return it->second;
    const TensorKind kind = entry->kind == SignatureKind::kParameter ? TensorKind::kParameter : TensorKind::kBuffer;
    it->second = lowering.draft.NewTensor(entry->target, dtype, Dims{channels}, kind);
    const std::string module = entry->target.substr(0, entry->target.rfind('.') + 1);
    const bool counts = lowering.source.signature.FindTarget(absl::StrCat(module, "num_batches_tracked")) != nullptr;
    if (argument == 3 && counts) lowering.hidden_buffer_bytes += 8;
    return it->second;
  };
  return {stored(1), stored(2), stored(3), stored(4)};
}

void Report(Lowering& lowering, int64_t count) {
  lowering.diagnostics.push_back(
      {Code::kBnFolded,
       Severity::kWarning,
       count,
       absl::StrCat(count, " BatchNorms were folded into convolutions by the exporter and are counted as if present"),
       {"why: a model that trains has them, and each saves its input", std::string(kExportRecipe)},
       {}});
}

class Unfolder {
 public:
  explicit Unfolder(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft) {}

  void Unfold(NodeId id) {
    FrameworkNode conv = draft_.node(id), norm = conv;
    const bool keeps_bias = !IsFoldedOperand(draft_.tensor(conv.inputs[1]).name, "Conv") &&
                            !HasInventedBias(draft_, conv) && !(NamesBatchNorm(conv) && draft_.has_opaque_names());
    GiveConvolutionItsModule(draft_, calls_, conv);
    MovePadWith(draft_, norm, conv);
    GiveNormItsModule(draft_, blocks_, norm);
    const FoldedNorm& stored = StoredOf(id, conv, norm, Channels(draft_, conv));
    const bool beside = !NamesBatchNorm(norm) && norm.module == conv.module;
    const std::string missing = beside ? MissingNumberBehind(modules_, conv.module) : "";
    if (!missing.empty()) norm.module = missing;
    if (!keeps_bias) conv.inputs.resize(2);
    const Tensor& made = draft_.tensor(conv.outputs[0]);
    const TensorId between = draft_.NewTensor(made.name + " before its BatchNorm", made.dtype, Dims(made.shape.dims));
    conv.outputs = {between};
    norm.op = "batch_norm";
    norm.inputs = {between, stored.scale, stored.shift, stored.mean, stored.variance};
    while (!norm.inputs.back().valid()) norm.inputs.pop_back();
    norm.attributes = {{"training", static_cast<int64_t>(lowering_.run.training)}};
    const Rank rank = draft_.rank(id);
    draft_.Remove(id);
    draft_.Add(std::move(conv), rank);
    draft_.Add(std::move(norm), rank);
  }

 private:
  const FoldedNorm& StoredOf(NodeId id, const FrameworkNode& conv, const FrameworkNode& norm, int64_t channels) {
    auto [it, is_new] = norms_.try_emplace(conv.inputs[1]);
    const FxCall call = NormCallOf(lowering_, id);
    if (!call.name.empty() && !lowering_.source.signature.empty()) {
      it->second = NamedNorm(lowering_, call, norm, channels, named_);
    } else if (is_new) {
      it->second = NewNorm(lowering_, norm, channels);
    }
    return it->second;
  }

  Lowering& lowering_;
  Draft& draft_;
  const std::set<std::string> modules_ = ModulesOf(draft_), calls_ = CallsOf(draft_), blocks_ = Blocks(draft_);
  std::map<TensorId, FoldedNorm> norms_;   // by the convolution's weight
  std::map<std::string, TensorId> named_;  // by the tensor's path in the module
};

}  // namespace

int64_t UnfoldBatchNorm(Lowering& lowering) {
  if (lowering.run.batch_norm == BatchNormMode::kAsIs) return 0;
  const Draft& draft = lowering.draft;
  NodeIds folded = draft.InOrder();
  EraseIf(folded, [&](NodeId id) {
    return !WasFolded(draft, draft.node(id), lowering.run.batch_norm) || Channels(draft, draft.node(id)) == 0;
  });
  if (folded.empty()) return 0;
  Unfolder unfolder(lowering);
  for (NodeId id : folded) unfolder.Unfold(id);
  Report(lowering, static_cast<int64_t>(folded.size()));
  return static_cast<int64_t>(folded.size());
}

}  // namespace onnx_mem
