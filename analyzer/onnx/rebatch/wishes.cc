#include "analyzer/onnx/rebatch/wishes.h"

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/order/stable_sort.h"

namespace onnx_mem {

Wishes::Wishes(const onnx::GraphProto& graph, const InferredGraph& base, const Variables& variables,
               const TraceMap& traces)
    : graph_(graph), base_(base), variables_(variables), traces_(traces) {
  for (const auto& input : graph.input()) graph_inputs_.insert(input.name());
  for (const auto& tensor : graph.initializer()) graph_inputs_.erase(tensor.name());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (int o = 0; o < graph.node(i).output_size(); ++o) makers_.emplace(graph.node(i).output(o), std::pair(i, o));
  }
}

bool Wishes::IsComputed(const std::string& name) const {
  const auto maker = makers_.find(name);
  return maker != makers_.end() && graph_.node(maker->second.first).op_type() != "Constant";
}

Operand Wishes::OperandOf(const std::string& name) const {
  Operand operand;
  const ValueFact* base = name.empty() ? nullptr : BaseOf(base_, name);
  operand.present = !name.empty();
  if (base == nullptr) return operand;
  if (base->shape.known()) operand.base = base->shape;
  if (const auto it = traces_.find(name); it != traces_.end()) operand.traces = it->second;
  operand.traces.resize(operand.base.rank());
  operand.base_contents = base->value;
  return operand;
}

absl::Status Wishes::Wish(const std::string& name, const Traces& traces, int reader, Ones ones) {
  const ValueFact* fact = BaseOf(base_, name);
  if (fact == nullptr || !fact->shape.known()) {
    return Refusal(absl::StrCat(DescribeNode(graph_, reader), " reads '", name, "', whose size is unknown"));
  }
  Traces& wish = wishes_[name];
  wish.resize(fact->shape.rank());
  if (!Merge(traces, wish)) return absl::OkStatus();
  new_ = true;
  const auto maker = makers_.find(name);
  if (!IsComputed(name)) {
    const bool given = graph_inputs_.contains(name);
    const Ones least = maker != makers_.end() ? Ones::kConstant : given ? Ones::kExpand : Ones::kScale;
    if (ones >= least || !AllOfSizeOne(traces, fact->shape.dims)) return absl::OkStatus();
    return Refusal(absl::StrCat(DescribeNode(graph_, reader), " reads '", name, "', which is no part of the batch"));
  }
  const auto [node, output] = maker->second;
  const Traces requested = wish;  // the map may move while others are requested
  return AskMaker(node, output, requested, reader, ones);
}

absl::Status Wishes::AskMaker(int node, int output, const Traces& wanted, int reader, Ones ones) {
  const onnx::NodeProto& proto = graph_.node(node);
  std::vector<Operand> inputs, outputs;
  for (const std::string& input : proto.input()) {
    inputs.push_back(OperandOf(input));
    inputs.back().baked = inputs.back().base_contents != nullptr;
  }
  for (const std::string& out : proto.output()) outputs.push_back(OperandOf(out));
  outputs[static_cast<size_t>(output)].traces = wanted;
  Ruling ruling = GrantBatch({proto, inputs, outputs, variables_}, output);
  if (!ruling.understood) {
    return Refusal(absl::StrCat(DescribeNode(graph_, node), " makes '", proto.output(output),
                                "' of the exported size, and ", DescribeNode(graph_, reader), " needs it to follow"));
  }
  grants_[node] = ruling.edits;
  for (const SizeWish& wish : ruling.wishes) RETURN_IF_ERROR(Wish(proto.input(wish.input), wish.dims, node, ones));
  if (ruling.alternatives.empty()) return absl::OkStatus();
  // What was computed is likelier to hold the batch than a constant beside it.
  StableSort(ruling.alternatives, [&](const SizeWish& a, const SizeWish& b) {
    return IsComputed(proto.input(a.input)) > IsComputed(proto.input(b.input));
  });
  for (const SizeWish& wish : ruling.alternatives) {
    if (TryWish(proto.input(wish.input), wish.dims, node, ones)) return absl::OkStatus();
  }
  return Refusal(absl::StrCat(DescribeNode(graph_, node), " has no operand that could follow"));
}

bool Wishes::TryWish(const std::string& name, const Traces& traces, int reader, Ones ones) {
  const auto key = std::make_pair(name, static_cast<int>(ones));
  if (denied_.contains(key)) return false;
  const auto wishes = wishes_;
  const auto grants = grants_;
  const bool any_new = new_;
  if (Wish(name, traces, reader, ones).ok()) return true;
  denied_.insert(key);
  wishes_ = wishes;
  grants_ = grants;
  new_ = any_new;
  return false;
}

}  // namespace onnx_mem
