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

#include "absl/strings/str_cat.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/exporters/program_calls.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

bool IsCached(const Draft& draft, TensorId id) {
  const Tensor& tensor = draft.tensor(id);
  return tensor.shape.rank() == 4 && IsFloating(tensor.dtype);
}

// Other code joins single parts too, torch.cat(features, 1) in a DenseNet's first layer: a copy, but no cache.
bool ReadsKeysOrValues(const Node& node) {
  constexpr auto kOperators = std::to_array<std::string_view>(
      {"scaled_dot_product_attention", "matmul", "bmm", "transpose", "permute", "unsqueeze", "expand", "slice"});
  return std::find(kOperators.begin(), kOperators.end(), AtenOperatorOf(node)) != kOperators.end();
}

// What the call reads of keys and values under a name that the program does not use.
TensorIds UnnamedKeysAndValues(const Lowering& lowering, const ProgramCall& call) {
  TensorIds unnamed = UnnamedReads(lowering, call);
  EraseIf(unnamed, [&](TensorId id) { return !IsCached(lowering.draft, id); });
  return unnamed;
}

class CacheUpdates {
 public:
  explicit CacheUpdates(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft) {
    for (const Tensor& tensor : lowering.source.tensors) names_.insert(tensor.name);
  }
  int64_t Restore(const ProgramCall& call);
  // To be called when all are restored: those without a fellow are no updates.
  void TellOthers();

 private:
  TensorId Copy(const std::string& name, int number, TensorId of, const ProgramCall& reader);

  Lowering& lowering_;
  Draft& draft_;
  std::set<std::string> names_;
  std::map<std::string, TensorId> copies_;
  std::map<int, NodeId> by_number_;
  int last_number_ = -2;
  Rank last_rank_;
};

TensorId CacheUpdates::Copy(const std::string& name, int number, TensorId of, const ProgramCall& reader) {
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
  by_number_[number] = draft_.Add(std::move(cat), last_rank_);
  return copies_[name] = copy;
}

int64_t CacheUpdates::Restore(const ProgramCall& call) {
  std::vector<std::string> lost;
  for (const std::string& name : call.reads) {
    if (NumberOfResult(name, "cat") >= 0 && !names_.contains(name)) lost.push_back(name);
  }
  if (lost.empty()) return 0;
  const TensorIds unnamed = UnnamedKeysAndValues(lowering_, call);
  if (unnamed.size() != lost.size()) return 0;
  const size_t before = copies_.size();
  for (size_t i = 0; i < lost.size(); ++i) {
    const TensorId copy = Copy(lost[i], NumberOfResult(lost[i], "cat"), unnamed[i], call);
    for (NodeId id : call.nodes) {
      TensorIds inputs = draft_.node(id).inputs;
      std::replace(inputs.begin(), inputs.end(), unnamed[i], copy);
      if (inputs != draft_.node(id).inputs) draft_.SetInputs(id, std::move(inputs));
    }
  }
  return static_cast<int64_t>(copies_.size() - before);
}

// Keys and values are updated one right after the other. A concatenation by itself joins a rotated query or key with
// the rest of its channels, of which there are none: a copy, but no cache.
void CacheUpdates::TellOthers() {
  for (const auto& [number, id] : by_number_) {
    Node& cat = draft_.mutable_node(id);
    const bool is_update = by_number_.contains(number - 1) || by_number_.contains(number + 1);
    if (!is_update && std::get<int64_t>(cat.attributes["axis"]) == 2) cat.attributes["axis"] = int64_t{3};
  }
}

}  // namespace

int64_t RestoreCacheUpdates(Lowering& lowering) {
  const std::vector<ProgramCall> calls = ProgramCalls(lowering);
  if (calls.empty()) return 0;
  CacheUpdates updates(lowering);
  int64_t count = 0;
  for (const ProgramCall& call : calls) count += updates.Restore(call);
  updates.TellOthers();
  return count;
}

}  // namespace onnx_mem
