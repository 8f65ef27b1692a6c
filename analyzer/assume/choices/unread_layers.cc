#include "analyzer/assume/choices/unread_layers.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/graph/shape.h"
#include "analyzer/lower/facts/lost_sizes.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// "model.layers.0.self_attn" -> "self_attn"
std::string LastPart(const std::string& path) {
  const size_t dot = path.rfind('.');
  return absl::AsciiStrToLower(dot == std::string::npos ? path : path.substr(dot + 1));
}

bool IsOtherAttention(const std::string& last) {
  constexpr auto kOthers = std::to_array<std::string_view>({"cross", "encoder_att", "encdec", "enc_dec", "src_att"});
  return std::any_of(kOthers.begin(), kOthers.end(), [&](std::string_view other) {
    return absl::StrContains(last, absl::string_view(other.data(), other.size()));
  });
}

// The call of an attention that is named as one of several, of those that enclose the node; "" if there is none.
std::string SelfAttentionAround(const FrameworkNode& node) {
  for (const std::string& call : node.calls) {
    if (absl::StartsWith(LastPart(call), "self")) return call;
  }
  return "";
}

// A mask stands in a sum on the way to the softmax, or is an operand.
bool IsMasked(const FrameworkGraph& graph, const FrameworkNode& node) {
  const auto is_between = [](const OpName& op) {
    return IsWholeView(op) || op == "cast" || op == "maximum" || op == "clamp";
  };
  if (node.op == "sdpa") return node.inputs.size() > 3 || IntAttribute(node, "causal", 0) != 0;
  if (node.op != "softmax") return false;
  const FrameworkNode* maker = &node;
  do {
    const NodeId before = maker->inputs[0].valid() ? graph.tensors[maker->inputs[0]].producer : NodeId();
    if (!before.valid()) return false;
    maker = &graph.nodes[before];
  } while (is_between(maker->op));
  return TakesMask(maker->op);
}

// "blocks.1.conv" -> "conv"; "gating.conv1.0" -> "conv.", as a number alone is no name.
std::string KindOf(const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string last = WithoutDigits(dot == std::string::npos ? path : path.substr(dot + 1));
  if (!last.empty() || dot == std::string::npos || dot == 0) return last;
  const size_t before = path.rfind('.', dot - 1);
  return WithoutDigits(before == std::string::npos ? path : path.substr(before + 1));
}

// What layers make that run.
class LargestResults {
 public:
  explicit LargestResults(const FrameworkGraph& graph) {
    for (const FrameworkNode& node : graph.nodes) {
      running_.insert(node.module);
      for (TensorId id : node.outputs) {
        if (!id.valid() || !IsFloating(graph.tensors[id].dtype)) continue;
        const int64_t bytes = NumBytes(graph.tensors[id].shape, graph.tensors[id].dtype).value_or(0);
        for (auto* of : {&of_number_[WithoutDigits(node.module)], &of_kind_[KindOf(node.module)]})
          *of = std::max(*of, bytes);
      }
    }
  }

  // The largest result of the layers whose path differs in its numbers alone, else of those of one last name; 0 where
  // there are none, or the layer itself runs.
  int64_t Like(const std::string& layer) const {
    if (running_.contains(layer)) return 0;
    if (const auto like = of_number_.find(WithoutDigits(layer)); like != of_number_.end()) return like->second;
    const auto like = of_kind_.find(KindOf(layer));
    return like == of_kind_.end() ? 0 : like->second;
  }

 private:
  std::set<std::string> running_;
  std::map<std::string, int64_t> of_number_, of_kind_;
};

}  // namespace

int64_t MostBytesOfUnreadLayers(const Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  std::set<std::string> masked;
  for (const FrameworkNode& node : graph.nodes) {
    const auto& calls = node.calls;
    if (std::any_of(calls.begin(), calls.end(), [](const auto& c) { return IsOtherAttention(LastPart(c)); })) return 0;
    if (IsMasked(graph, node)) masked.insert(SelfAttentionAround(node));
  }
  masked.erase("");
  std::set<TensorId> counted;
  int64_t bytes = 0;
  for (const FrameworkNode& node : graph.nodes) {
    if (!masked.contains(SelfAttentionAround(node))) continue;
    for (TensorId id : node.inputs) {
      if (!id.valid() || lowered.kinds[id] != TensorKind::kParameter || !counted.insert(id).second) continue;
      bytes += NumBytes(graph.tensors[id].shape, graph.tensors[id].dtype).value_or(0);
    }
  }
  return bytes;
}

int64_t MostBytesOfDeadBranches(const std::vector<std::string>& unread, bool training, const Lowered& lowered) {
  if (unread.empty()) return 0;  // every question comes by
  const LargestResults largest(lowered.graph);
  std::set<std::string> layers;
  for (const std::string& parameter : unread) layers.emplace(SplitPath(parameter).first);
  int64_t sum = 0, most = 0;
  for (const std::string& layer : layers) {
    const int64_t bytes = layer.empty() ? 0 : largest.Like(layer);
    sum += bytes;
    most = std::max(most, bytes);
  }
  return training ? sum + most : most;
}

}  // namespace onnx_mem
