#include "analyzer/onnx/build/known_lists.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/run/limits.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

using List = std::vector<std::string>;  // names of tensors

class KnownLists {
 public:
  explicit KnownLists(const InferredGraph& facts) : facts_(facts) {}

  void Learn(const onnx::NodeProto& node) {
    if (!node.domain().empty() || node.output_size() == 0) return;
    std::optional<List> list = left_ > 0 ? ListOf(node) : std::nullopt;
    if (!list) return;
    left_ -= static_cast<int64_t>(list->size());
    lists_[node.output(0)] = *std::move(list);
  }
  // The tensor of a known list that `node` takes out; null where it is none, or its shape is known anyway.
  const std::string* Taken(const onnx::NodeProto& node) const {
    if (!node.domain().empty() || node.op_type() != "SequenceAt" || node.input_size() < 2) return nullptr;
    const auto known = facts_.values.find(node.output(0));
    if (known != facts_.values.end() && known->second.shape.has_rank) return nullptr;
    const auto list = lists_.find(node.input(0));
    if (list == lists_.end()) return nullptr;
    const auto position = PositionIn(list->second, node, 1);
    return position && *position < list->second.size() ? &list->second[*position] : nullptr;
  }

 private:
  std::optional<List> ListOf(const onnx::NodeProto& node) const {
    const std::string& op = node.op_type();
    if (op == "SequenceEmpty") return List();
    if (op == "SequenceConstruct") return List(node.input().begin(), node.input().end());
    const auto before = node.input_size() > 0 ? lists_.find(node.input(0)) : lists_.end();
    if (before == lists_.end()) return std::nullopt;
    List list = before->second;
    if (op == "Identity") return list;
    const bool inserts = op == "SequenceInsert" && node.input_size() > 1;
    if (!inserts && op != "SequenceErase") return std::nullopt;
    const int slot = inserts ? 2 : 1;
    const bool reported = node.input_size() > slot && !node.input(slot).empty();
    const size_t last = list.size() - (inserts ? 0 : 1);  // of an empty list: beyond all that is left
    const auto at = reported ? PositionIn(list, node, slot) : std::optional<size_t>(last);
    if (!at || *at > list.size() || (!inserts && *at >= list.size())) return std::nullopt;
    const auto place = list.begin() + static_cast<int64_t>(*at);
    inserts ? static_cast<void>(list.insert(place, node.input(1))) : static_cast<void>(list.erase(place));
    return list;
  }
  // From the end where it is negative; nullopt if it is not known or below the first.
  std::optional<size_t> PositionIn(const List& list, const onnx::NodeProto& node, int slot) const {
    const auto fact = facts_.values.find(node.input(slot));
    const auto* numbers = fact != facts_.values.end() && fact->second.value ? fact->second.value->ints() : nullptr;
    if (numbers == nullptr || numbers->size() != 1) return std::nullopt;
    const int64_t position = numbers->front() + (numbers->front() < 0 ? static_cast<int64_t>(list.size()) : 0);
    return position < 0 ? std::nullopt : std::optional<size_t>(static_cast<size_t>(position));
  }

  const InferredGraph& facts_;
  absl::flat_hash_map<std::string, List> lists_;  // by the name of the sequence
  int64_t left_ = limits::kListedTensors;
};

}  // namespace

std::unique_ptr<onnx::ModelProto> UnpackLists(const onnx::ModelProto& model, const InferredGraph& facts) {
  KnownLists lists(facts);
  std::vector<std::pair<int, std::string>> taken;  // node, tensor
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const onnx::NodeProto& node = model.graph().node(i);
    lists.Learn(node);
    if (const std::string* tensor = lists.Taken(node)) taken.emplace_back(i, *tensor);
  }
  if (taken.empty()) return nullptr;
  auto copy = std::make_unique<onnx::ModelProto>(model);
  for (const auto& [i, tensor] : taken) {
    onnx::NodeProto& node = *copy->mutable_graph()->mutable_node(i);
    node.set_op_type("Identity");
    node.clear_input();
    node.add_input(tensor);
  }
  return copy;
}

}  // namespace onnx_mem
