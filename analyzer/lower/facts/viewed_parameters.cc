#include "analyzer/lower/facts/viewed_parameters.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/exported/value_names.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/lower/facts/lost_sizes.h"
#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

// Methods that give all of a tensor, and the calls that they become.
struct WholeView {
  std::string_view method, call;
};
constexpr auto kWholeViews = std::to_array<WholeView>({
    {"t", "t"},
    {"transpose", "transpose"},
    {"permute", "permute"},
    {"view", "view"},
    {"reshape", "view"},
    {"unsqueeze", "unsqueeze"},
    {"squeeze", "squeeze"},
});

bool IsWordCharacter(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view TakeWord(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsWordCharacter);
  const std::string_view word = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

// Takes "(...)" off the text; false where it does not begin with brackets that are closed on this line.
bool TakeBrackets(std::string_view& text) {
  if (text.empty() || text[0] != '(') return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth != 0) continue;
    text.remove_prefix(i + 1);
    return true;
  }
  return false;
}

// ".t()" of a view's call; the call of the last of a chain. "" where the chain has anything else.
std::string_view LastOfViews(std::string_view text) {
  std::string_view last;
  while (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    const std::string_view method = TakeWord(text);
    const auto* row = std::find_if(kWholeViews.begin(), kWholeViews.end(),
                                   [&](const WholeView& view) { return view.method == method; });
    if (row == kWholeViews.end() || !TakeBrackets(text)) return {};
    last = row->call;
  }
  const bool is_part = !text.empty() && text[0] == '[';
  return is_part ? std::string_view() : last;
}

bool IsParameter(const SignatureEntry* entry) { return entry != nullptr && entry->kind == SignatureKind::kParameter; }

class ViewFinder {
 public:
  explicit ViewFinder(const Graph& graph) : graph_(graph) {
    for (TensorId id : graph.initializers) stored_.emplace(graph.tensors[id].name, id);
  }

  // The views of each parameter that the file lacks, by its path.
  std::map<std::string, TensorIds> Find() const {
    std::map<std::string, TensorIds> views;
    for (TensorId id : graph_.initializers) {
      if (std::string path = PathOf(graph_.tensors[id]); !path.empty()) views[path].push_back(id);
    }
    std::erase_if(views, [&](const auto& found) { return !AreAlike(found.second); });
    return views;
  }

 private:
  // What all readers of the tensor say it is a view of.
  std::string PathOf(const Tensor& tensor) const {
    if (tensor.consumers.empty() || !IsFloating(tensor.dtype) || graph_.signature.FindTarget(tensor.name) != nullptr)
      return "";
    const std::string path = PathAt(graph_.nodes[tensor.consumers[0]], tensor.name);
    const bool all = std::all_of(tensor.consumers.begin(), tensor.consumers.end(),
                                 [&](NodeId reader) { return PathAt(graph_.nodes[reader], tensor.name) == path; });
    return all ? path : "";
  }

  // table[places]: a GatherND, before which the exporter permutes the table; where nothing is permuted, it folds that
  // into a tensor of its own (onnxscript, torch_lib/ops/core.py, _aten_index_onnx). "" for anything else.
  std::string PathIndexed(const Node& reader, std::string_view name) const {
    if (reader.op != "GatherND" || graph_.tensors[reader.inputs[0]].name != name || !IsExporterName(name)) return "";
    const FxCall call = FxCallOf(reader);
    constexpr size_t kTableAndPlaces = 2;
    if (call.target != "aten.index.Tensor" || call.args.size() != kTableAndPlaces) return "";
    const SignatureEntry* entry = graph_.signature.FindPlaceholder(call.args[0]);
    const bool permutes = absl::StrContains(call.args[1], "None");
    return IsParameter(entry) && !permutes && !stored_.contains(entry->target) ? entry->target : "";
  }

  std::string PathAt(const Node& reader, std::string_view name) const {
    if (std::string path = PathIndexed(reader, name); !path.empty()) return path;
    if (!IsArgumentOfCall(reader, name)) return "";
    const std::string attribute = AttributeViewedOn(InnermostLineOf(reader), CallInName(name));
    if (attribute.empty()) return "";
    const std::string module(CallingModuleOf(reader));
    std::string path = module.empty() ? attribute : absl::StrCat(module, ".", attribute);
    return IsParameter(graph_.signature.FindTarget(path)) && !stored_.contains(path) ? path : "";
  }

  // In two layouts they may be views of one tensor, but neither is the other.
  bool AreAlike(const TensorIds& views) const {
    const Tensor& first = graph_.tensors[views[0]];
    return std::all_of(views.begin(), views.end(), [&](TensorId id) {
      return graph_.tensors[id].shape == first.shape && graph_.tensors[id].dtype == first.dtype;
    });
  }

  const Graph& graph_;
  std::map<std::string_view, TensorId> stored_;
};

// A matrix that was transposed: its gradient comes in the other order of memory, which AccumulateGrad copies. Other
// views have the parameter's own order.
bool IsTurned(const Tensor& view) {
  const std::string_view call = CallInName(view.name);
  return view.shape.rank() == 2 && (call == "t" || call == "transpose" || call == "permute");
}

struct TurnedRead {
  TensorId parameter;
  std::string view;  // its name
};
using TurnedReads = std::map<NodeId, std::vector<TurnedRead>>;  // by reader

// A node in the call of `reader`, which reads what it gives in place of the parameter.
Node TurnBefore(Node& reader, const TurnedRead& read, Graph& graph) {
  Tensor view = graph.tensors[read.parameter];
  view.name = read.view;
  view.role = TensorRole::kActivation;
  std::reverse(view.shape.dims.begin(), view.shape.dims.end());
  const TensorId made = graph.tensors.Add(std::move(view));
  std::replace(reader.inputs.begin(), reader.inputs.end(), read.parameter, made);
  Node turn;
  turn.name = absl::StrCat("node_", read.view);
  turn.op = "Transpose";
  turn.inputs = {read.parameter};
  turn.outputs = {made};
  turn.attributes = {{"perm", std::vector<int64_t>{1, 0}}};
  turn.source_trace = reader.source_trace;
  turn.metadata = reader.metadata;
  turn.metadata[std::string(kFxNode)] = absl::StrCat(
      "%", read.view, " : [num_users=1] = call_function[target=torch.ops.aten.t.default]", "(args = (), kwargs = {})");
  turn.since_version = graph.opset;
  return turn;
}

void AddTurns(const TurnedReads& turned, Graph& graph) {
  if (turned.empty()) return;
  IdVector<NodeId, Node> nodes;
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    Node node = std::move(graph.nodes[id]);
    if (const auto reads = turned.find(id); reads != turned.end()) {
      for (const TurnedRead& read : reads->second) nodes.Add(TurnBefore(node, read, graph));
    }
    nodes.Add(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

// Nodes that were marked with a parameter that is found get another one of their module that is not.
void MarkOthers(const std::map<std::string, TensorIds>& found, Graph& graph) {
  std::set<std::string_view> stored;
  for (TensorId id : graph.initializers) stored.insert(graph.tensors[id].name);
  std::map<std::string, std::string> lost;  // by module
  for (const SignatureEntry& entry : graph.signature.entries()) {
    if (!IsParameter(&entry) || stored.contains(entry.target)) continue;
    lost.try_emplace(std::string(SplitPath(entry.target).first), entry.target);
  }
  for (Node& node : graph.nodes) {
    if (!found.contains(node.lost_parameter)) continue;
    const auto other = lost.find(std::string(SplitPath(node.lost_parameter).first));
    node.lost_parameter = other == lost.end() ? std::string() : other->second;
  }
}

}  // namespace

std::string AttributeViewedOn(std::string_view line, std::string_view view) {
  constexpr std::string_view kSelf = "self.";
  std::string found;
  for (size_t at = line.find(kSelf); at != std::string_view::npos; at = line.find(kSelf, at + 1)) {
    if (at > 0 && (IsWordCharacter(line[at - 1]) || line[at - 1] == '.')) continue;
    std::string_view rest = line.substr(at + kSelf.size());
    const std::string_view name = TakeWord(rest);
    if (name.empty() || LastOfViews(rest) != view || view.empty()) continue;
    if (!found.empty() && found != name) return "";
    found = name;
  }
  return found;
}

std::optional<Graph> NameViewedParameters(const Graph& graph) {
  if (graph.signature.empty()) return std::nullopt;
  const std::map<std::string, TensorIds> found = ViewFinder(graph).Find();
  if (found.empty()) return std::nullopt;
  Graph named = graph;
  TurnedReads turned;
  for (const auto& [path, views] : found) {
    Tensor& parameter = named.tensors[views[0]];
    const bool is_turned = IsTurned(parameter);
    parameter.name = path;
    if (is_turned) std::reverse(parameter.shape.dims.begin(), parameter.shape.dims.end());
    for (TensorId id : views) {
      for (NodeId reader : graph.tensors[id].consumers) {
        TensorIds& inputs = named.nodes[reader].inputs;
        std::replace(inputs.begin(), inputs.end(), id, views[0]);
        if (is_turned) turned[reader].push_back({views[0], graph.tensors[id].name});
      }
    }
  }
  AddTurns(turned, named);
  LinkTensors(named);
  MarkOthers(found, named);
  return named;
}

}  // namespace onnx_mem
