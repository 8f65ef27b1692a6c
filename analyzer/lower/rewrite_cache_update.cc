// A decoder of transformers hands keys and values through a cache, whose first update concatenates them with nothing: a
// copy. dynamo's optimizer takes that concatenation out, but the program's node that read its result still names it:
//
//   MatMul(softmax, split_2)   %matmul_1 = aten.matmul(args = (%softmax, %cat_6))     no tensor of the file is cat_6
//
// The copy is put back in front of the first call that reads it or the other of the two.
// Source: transformers/cache_utils.py (DynamicLayer.update), onnxscript/rewriter (removal of empty operands of Concat).
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/lower/match.h"
#include "analyzer/lower/rewrites.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kProgramNode = "pkg.torch.onnx.fx_node";

// All operators that one node of the program became, and the tensors that it names.
struct Call {
  std::vector<NodeId> nodes;
  std::vector<std::string> reads;
};

// `... (args = (%softmax, %cat_6, 1), kwargs = {})` -> softmax, cat_6.
std::vector<std::string> NamesRead(absl::string_view text) {
  std::vector<std::string> names;
  const size_t args = text.find("args = ");
  if (args == absl::string_view::npos) return names;
  for (size_t at = text.find('%', args); at != absl::string_view::npos; at = text.find('%', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    names.emplace_back(text.substr(at + 1, end - at - 1));
  }
  return names;
}

// "cat_6" -> 6, "cat" -> 0; -1 for any other name.
int ConcatenationNumber(const std::string& name) {
  int number = 0;
  if (name == "cat") return 0;
  return absl::StartsWith(name, "cat_") && absl::SimpleAtoi(name.substr(4), &number) ? number : -1;
}

std::vector<Call> CallsInOrder(const Lowering& lowering) {
  std::vector<Call> calls;
  std::map<std::string, size_t> known;
  for (NodeId id : lowering.draft.InOrder()) {
    const Node& source = lowering.source.nodes[NodeId(lowering.draft.rank(id).source)];
    const auto text = source.metadata.find(kProgramNode);
    if (text == source.metadata.end()) continue;
    const auto [it, fresh] = known.emplace(text->second, calls.size());
    if (fresh) calls.push_back({.nodes = {}, .reads = NamesRead(text->second)});
    calls[it->second].nodes.push_back(id);
  }
  return calls;
}

bool IsCached(const Draft& draft, TensorId id) {
  const Tensor& tensor = draft.tensor(id);
  return draft.producer(id).valid() && tensor.shape.rank() == 4 && IsFloating(tensor.dtype);
}

// "scaled_dot_product_attention#..." -> "scaled_dot_product_attention".
std::string_view OperatorOf(const Node& node) {
  return std::string_view(node.framework_op).substr(0, node.framework_op.find('#'));
}

// Other code joins single parts too, torch.cat(features, 1) in a DenseNet's first layer: a copy, but no cache.
bool ReadsKeysOrValues(const Node& node) {
  constexpr auto kOperators = std::to_array<std::string_view>(
      {"scaled_dot_product_attention", "matmul", "bmm", "transpose", "permute", "unsqueeze", "expand", "slice"});
  return std::find(kOperators.begin(), kOperators.end(), OperatorOf(node)) != kOperators.end();
}

// Whether the call's node of the program names `id`, or what made it; or a layer before computed it for all of them.
bool IsNamed(const Lowering& lowering, const Call& call, TensorId id) {
  const Draft& draft = lowering.draft;
  const auto reads = [&](absl::string_view name) {
    return std::find(call.reads.begin(), call.reads.end(), name) != call.reads.end();
  };
  if (reads(draft.tensor(id).name)) return true;
  const NodeId maker = draft.producer(id);
  const Node& node = draft.node(maker);
  if (!node.framework_op.empty() && OperatorOf(node) == OperatorOf(draft.node(call.nodes.front()))) return true;
  const Node& source = lowering.source.nodes[NodeId(draft.rank(maker).source)];
  const auto text = source.metadata.find(kProgramNode);
  if (text == source.metadata.end() || text->second.empty()) return false;
  return reads(absl::string_view(text->second).substr(1, text->second.find(' ') - 1));
}

// What the call reads of keys and values, each once, under a name that the program does not use.
std::vector<TensorId> UnnamedReads(const Lowering& lowering, const Call& call) {
  const Draft& draft = lowering.draft;
  std::vector<TensorId> unnamed;
  for (NodeId id : call.nodes) {
    for (TensorId input : draft.node(id).inputs) {
      if (!input.valid() || !IsCached(draft, input)) continue;
      const bool own = std::find(call.nodes.begin(), call.nodes.end(), draft.producer(input)) != call.nodes.end();
      if (own || IsNamed(lowering, call, input) || std::find(unnamed.begin(), unnamed.end(), input) != unnamed.end()) continue;
      unnamed.push_back(input);
    }
  }
  return unnamed;
}

class CacheUpdates {
 public:
  explicit CacheUpdates(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft) {
    for (const Tensor& tensor : lowering.source.tensors) names_.insert(tensor.name);
  }
  int64_t Restore(const Call& call);

 private:
  TensorId Copy(const std::string& name, int number, TensorId of, const Call& reader);

  Lowering& lowering_;
  Draft& draft_;
  std::set<std::string> names_;
  std::map<std::string, TensorId> copies_;
  int last_number_ = -2;
  Rank last_rank_;
};

TensorId CacheUpdates::Copy(const std::string& name, int number, TensorId of, const Call& reader) {
  const auto known = copies_.find(name);
  if (known != copies_.end()) return known->second;
  const Node& first = draft_.node(reader.nodes.front());
  const Tensor tensor = draft_.tensor(of);
  const TensorId copy = draft_.NewTensor(name, tensor.dtype, tensor.shape.dims);
  Node cat = MakeNode("cat", {of}, {copy});
  cat.attributes["axis"] = ReadsKeysOrValues(first) ? int64_t{2} : int64_t{1};
  cat.name = absl::StrCat(first.name, "/", name);
  cat.module = first.module;
  cat.calls = first.calls;
  // Keys and values are updated together.
  const Rank rank = draft_.rank(reader.nodes.front());
  const bool second = number == last_number_ + 1 && last_rank_ < rank && draft_.rank(draft_.producer(of)) < last_rank_;
  if (!second) last_rank_ = {rank.source, rank.place - 1};
  last_number_ = number;
  draft_.Add(std::move(cat), last_rank_);
  return copies_[name] = copy;
}

int64_t CacheUpdates::Restore(const Call& call) {
  std::vector<std::string> lost;
  for (const std::string& name : call.reads) {
    if (ConcatenationNumber(name) >= 0 && !names_.contains(name)) lost.push_back(name);
  }
  if (lost.empty()) return 0;
  const std::vector<TensorId> unnamed = UnnamedReads(lowering_, call);
  if (unnamed.size() != lost.size()) return 0;
  const size_t before = copies_.size();
  for (size_t i = 0; i < lost.size(); ++i) {
    const TensorId copy = Copy(lost[i], ConcatenationNumber(lost[i]), unnamed[i], call);
    for (NodeId id : call.nodes) {
      std::vector<TensorId> inputs = draft_.node(id).inputs;
      std::replace(inputs.begin(), inputs.end(), unnamed[i], copy);
      if (inputs != draft_.node(id).inputs) draft_.SetInputs(id, std::move(inputs));
    }
  }
  return static_cast<int64_t>(copies_.size() - before);
}

}  // namespace

int64_t RestoreCacheUpdates(Lowering& lowering) {
  CacheUpdates updates(lowering);
  int64_t count = 0;
  for (const Call& call : CallsInOrder(lowering)) count += updates.Restore(call);
  return count;
}

}  // namespace onnx_mem
