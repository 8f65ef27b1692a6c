// Calls that dynamo's optimizer takes out because they change no value, or because an equal one has run before. The
// framework ran them, and the program's nodes that read their results still name those:
//
//   Conv(permute_1, w)     %conv2d_1 = aten.conv2d(args = (%clone, %p_w))    clone(permute_1) -> clone, right behind it
//   Add(mul, mul_1)        %add_1 = aten.add(args = (%add, %mul_1))          0 + mul, a sum that began with 0
//   Conv(relu, w)          %conv2d_9 = aten.conv2d(args = (%relu_3, %p_w))   relu_3 = relu(x) again, where relu had
//                                                                            been
//
// A reshape that has to copy shows as a clone, too, with a view of it, and .contiguous() as one where it has to copy.
// Whether they have to depends on how the device's kernels lay out their results, so that is left to them.
//
// torch.cat of one tensor copies it, where the code runs: the first layer of a dense block joins a list of one
// (onnxscript, optimizer/_constant_folding.py, concat: an Identity).
//
// A sum or product that is left out where its operand is one, too, may be x += 0, which makes nothing: it stays out.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// All operators that one node of the program became, and the values that it names, in order.
struct ProgramCall {
  NodeIds nodes;
  std::vector<std::string> reads;
};

// The value that the node's call gave, by the program's name for it: "matmul_1"; empty where the file does not tell.
std::string_view ResultOfProgramCall(const Node& node) {
  const std::string& text = FxTextOf(node);
  return text.empty() ? std::string_view() : std::string_view(text).substr(1, text.find(' ') - 1);
}

// "scaled_dot_product_attention#..." -> "scaled_dot_product_attention".
std::string_view AtenOperatorOf(const FrameworkNode& node) {
  return std::string_view(node.framework_op).substr(0, node.framework_op.find('#'));
}

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

// Whether the call's node of the program names `id`, or what made it; or a layer before computed it for all of them.
bool IsNamed(const Lowering& lowering, const ProgramCall& call, TensorId id) {
  const Draft& draft = lowering.draft;
  const auto reads = [&](absl::string_view name) {
    return std::find(call.reads.begin(), call.reads.end(), name) != call.reads.end();
  };
  const std::string& name = draft.tensor(id).name;
  // A parameter, a buffer and a constant of the root are placeholders with a letter before their name.
  for (const std::string_view before : {"", "p_", "b_", "c_"}) {
    if (reads(absl::StrCat(std::string(before), name))) return true;
  }
  const NodeId maker = draft.producer(id);
  if (!maker.valid()) return false;
  const FrameworkNode& node = draft.node(maker);
  const bool within = IsExporterName(draft.tensor(id).name) && !node.framework_op.empty();
  if (within && AtenOperatorOf(node) == AtenOperatorOf(draft.node(call.nodes.front()))) return true;
  const std::string_view result = ResultOfProgramCall(lowering.source.nodes[NodeId(draft.rank(maker).source)]);
  return !result.empty() && reads(absl::string_view(result.data(), result.size()));
}

// The calls, first run first; none where the file does not tell.
std::vector<ProgramCall> ProgramCalls(const Lowering& lowering) {
  std::vector<ProgramCall> calls;
  std::map<std::string, size_t> known;
  for (NodeId id : lowering.draft.InOrder()) {
    const Node& source = lowering.source.nodes[NodeId(lowering.draft.rank(id).source)];
    const std::string& text = FxTextOf(source);
    if (text.empty()) continue;
    const auto [it, fresh] = known.emplace(text, calls.size());
    if (fresh) calls.push_back({.nodes = {}, .reads = NamesRead(text)});
    calls[it->second].nodes.push_back(id);
  }
  return calls;
}

// Whether `id` is a node of the call, or runs one once more in another module (merged_expressions.cc).
bool IsNodeOf(const Draft& draft, const ProgramCall& call, NodeId id) {
  return std::any_of(call.nodes.begin(), call.nodes.end(), [&](NodeId own) {
    return own == id || absl::StartsWith(draft.node(id).name, absl::StrCat(draft.node(own).name, " in "));
  });
}

// The exporter computed it: "exp", where the program had exp(weight).
bool IsComputedByExporter(const Draft& draft, TensorId id) {
  const std::string& name = draft.tensor(id).name;
  return !draft.producer(id).valid() && draft.kind(id) != TensorKind::kInput && !draft.tensor(id).shape.dims.empty() &&
         name.find('.') == std::string::npos && !IsExporterName(name);
}

// What the call reads of what other calls made, each once, under a name that the call does not use.
TensorIds UnnamedReads(const Lowering& lowering, const ProgramCall& call) {
  const Draft& draft = lowering.draft;
  TensorIds unnamed;
  for (NodeId id : call.nodes) {
    for (TensorId input : draft.node(id).inputs) {
      if (!input.valid()) continue;
      const bool made = draft.producer(input).valid() || draft.kind(input) == TensorKind::kInput;
      if (!made && !IsComputedByExporter(draft, input)) continue;
      const NodeId maker = draft.producer(input);
      const bool own = maker.valid() && std::find(call.nodes.begin(), call.nodes.end(), maker) != call.nodes.end();
      if (own || IsNamed(lowering, call, input) || std::find(unnamed.begin(), unnamed.end(), input) != unnamed.end())
        continue;
      unnamed.push_back(input);
    }
  }
  return unnamed;
}

// Calls that gave their operand's values in a new tensor, and the operator that does so.
struct Copying {
  std::string_view aten;
  std::string_view framework;
  char sign = 0;  // of the expression that calls it
};
constexpr auto kCopying = std::to_array<Copying>({{"add", "add_scalar", '+'},
                                                  {"cat", "clone"},
                                                  {"clone", "contiguous"},
                                                  {"constant_pad_nd", "clone"},
                                                  {"div", "mul_scalar", '/'},
                                                  {"mul", "mul_scalar", '*'},
                                                  {"pad", "clone"},
                                                  {"repeat", "clone"},
                                                  {"sub", "add_scalar", '-'}});

// Null for other operators.
const Copying* CopyingOf(std::string_view aten) {
  const auto* row = std::find_if(kCopying.begin(), kCopying.end(), [&](const Copying& c) { return c.aten == aten; });
  return row != kCopying.end() ? row : nullptr;
}

// return torch.sin(1.0 * x): whether the line of `reader` calls it, and no longer that of what made its operand.
bool StandsWithReader(const Copying& row, const FrameworkNode& reader) {
  return row.sign != 0 && InnermostLineOf(reader).find(row.sign) != std::string_view::npos;
}

// Calls that a BatchNorm behind them was folded into: their nodes have its name, and nothing is lost.
constexpr auto kFoldedInto =
    std::to_array<std::string_view>({"addmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                                     "conv_transpose3d", "convolution", "linear"});

// "relu_3" -> "relu".
std::string_view AtenOf(std::string_view name) {
  const size_t underscore = name.rfind('_');
  const bool numbered = underscore != std::string_view::npos && underscore + 1 < name.size() &&
                        name.find_first_not_of("0123456789", underscore + 1) == std::string_view::npos;
  return numbered ? name.substr(0, underscore) : name;
}

// Values that the program was given, or that are numbers: "p_fc_weight", "b_mask", "c_lifted_tensor_0",
// "sym_size_int_1".
bool IsGiven(std::string_view name) {
  constexpr auto kPrefixes = std::to_array<std::string_view>({"p_", "b_", "c_", "sym_"});
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](std::string_view p) { return name.starts_with(p); });
}

class LostCalls {
 public:
  explicit LostCalls(Lowering& lowering) : lowering_(lowering), draft_(lowering.draft) {
    for (const Tensor& tensor : lowering.source.tensors) known_.insert(tensor.name);
    for (const Node& node : lowering.source.nodes) known_.insert(std::string(ResultOfProgramCall(node)));
  }
  // Runs the calls again whose results `call` reads.
  void Restore(const ProgramCall& call);
  // Runs the last call again, where the program's result has its name: `return logits / 1.0`.
  void RestoreResult(TensorId output);
  int64_t count() const { return static_cast<int64_t>(restored_.size()); }

 private:
  TensorId Again(const std::string& name, TensorId result, const ProgramCall& reader);
  TensorId Add(const std::string& name, TensorId like, FrameworkNode node, const FrameworkNode& place, Rank rank);

  Lowering& lowering_;
  Draft& draft_;
  std::set<std::string> known_;
  std::map<std::string, TensorId> restored_;
  std::set<TensorId> copied_;
};

TensorId LostCalls::Add(const std::string& name, TensorId like, FrameworkNode node, const FrameworkNode& place,
                        Rank rank) {
  const Tensor tensor = draft_.tensor(like);
  const TensorId result = draft_.NewTensor(name, tensor.dtype, tensor.shape.dims);
  node.outputs = {result};
  PutInCallOf(place, node);
  node.name = absl::StrCat(place.name, "/", name);
  draft_.Add(std::move(node), rank);
  return restored_[name] = result;
}

// The result of the lost call `name`, in whose place the file has `result`; `result` where that is no other tensor.
TensorId LostCalls::Again(const std::string& name, TensorId result, const ProgramCall& reader) {
  if (const auto known = restored_.find(name); known != restored_.end()) return known->second;
  const std::string_view aten = AtenOf(name);
  if (std::find(kFoldedInto.begin(), kFoldedInto.end(), aten) != kFoldedInto.end()) return result;
  const bool given = !draft_.producer(result).valid();
  if (given && draft_.kind(result) != TensorKind::kInput) return result;
  const NodeId maker = given ? reader.nodes.front() : draft_.producer(result);
  const FrameworkNode made = draft_.node(maker);
  const Copying* row = CopyingOf(aten);
  const bool joins_one = aten == "cat";
  if (!given && AtenOperatorOf(made) == aten && !joins_one) {  // an equal call had run
    if (row != nullptr && row->framework.ends_with("_scalar")) return result;
    const Rank rank = draft_.rank(reader.nodes.front());
    if (made.outputs.size() != 1) return result;
    return Add(name, result, made, draft_.node(reader.nodes.front()), {rank.source, rank.place - 1});
  }
  if (row == nullptr) return result;
  FrameworkNode node = MakeNode(row->framework, {result}, {});
  if (node.op == "clone") node.attributes["contiguous"] = int64_t{1};
  // What an operator just made is copied for its layout, of which code may take care in training alone.
  const bool is_view = given || IsView(made.op);
  if (node.op == "contiguous" && !is_view && !lowering_.run.training)
    node.attributes[std::string(kMaybeCopied)] = int64_t{1};
  const NodeId first = reader.nodes.front();
  // Of two calls that copied the same, the second ran later: what made its operand ran again, too.
  const bool again = !copied_.insert(result).second;
  const bool with_reader = joins_one || again || StandsWithReader(*row, draft_.node(first));
  Rank rank = draft_.rank(with_reader ? first : maker);
  if (given || with_reader) --rank.place;
  return Add(name, result, std::move(node), with_reader ? draft_.node(first) : made, rank);
}

void LostCalls::Restore(const ProgramCall& call) {
  if (AtenOperatorOf(draft_.node(call.nodes.front())) == "_unsafe_view") return;
  std::vector<std::string> lost;
  for (const std::string& name : call.reads) {
    const bool seen = std::find(lost.begin(), lost.end(), name) != lost.end();
    if (!seen && !IsGiven(name) && !known_.contains(name)) lost.push_back(name);
  }
  if (lost.empty()) return;
  const TensorIds unnamed = UnnamedReads(lowering_, call);
  if (unnamed.size() != lost.size()) return;
  for (size_t i = 0; i < lost.size(); ++i) {
    const TensorId result = Again(lost[i], unnamed[i], call);
    if (result == unnamed[i] || draft_.tensor(result).shape != draft_.tensor(unnamed[i]).shape) continue;
    for (NodeId id : NodeIds(draft_.readers(unnamed[i]))) {
      if (!IsNodeOf(draft_, call, id)) continue;
      TensorIds inputs = draft_.node(id).inputs;
      std::replace(inputs.begin(), inputs.end(), unnamed[i], result);
      draft_.SetInputs(id, std::move(inputs));
    }
  }
}

void LostCalls::RestoreResult(TensorId output) {
  const NodeId maker = draft_.producer(output);
  const std::string name = draft_.tensor(output).name;
  const Copying* row = CopyingOf(AtenOf(name));
  if (!maker.valid() || !draft_.readers(output).empty() || row == nullptr || !row->framework.ends_with("_scalar"))
    return;
  const std::string_view made_by = ResultOfProgramCall(lowering_.source.nodes[NodeId(draft_.rank(maker).source)]);
  if (made_by.empty() || made_by == name) return;
  draft_.mutable_tensor(output).name = std::string(made_by);
  const FrameworkNode made = draft_.node(maker);
  const TensorId result = Add(name, output, MakeNode(row->framework, {}, {}), made, draft_.rank(maker));
  draft_.ReplaceReaders(output, result);
  draft_.SetInputs(draft_.producer(result), {output});
}

}  // namespace

int64_t RestoreLostCalls(Lowering& lowering) {
  const std::vector<ProgramCall> calls = ProgramCalls(lowering);
  if (calls.empty()) return 0;
  LostCalls lost(lowering);
  for (const ProgramCall& call : calls) lost.Restore(call);
  for (TensorId output : lowering.source.outputs) lost.RestoreResult(output);
  return lost.count();
}

}  // namespace onnx_mem
