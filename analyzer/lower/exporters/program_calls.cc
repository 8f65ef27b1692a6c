#include "analyzer/lower/exporters/program_calls.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

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
  if (reads(draft.tensor(id).name)) return true;
  const NodeId maker = draft.producer(id);
  if (!maker.valid()) return false;
  const Node& node = draft.node(maker);
  const bool within = IsExporterName(draft.tensor(id).name) && !node.framework_op.empty();
  if (within && AtenOperatorOf(node) == AtenOperatorOf(draft.node(call.nodes.front()))) return true;
  const std::string_view result = ResultOfProgramCall(lowering.source.nodes[NodeId(draft.rank(maker).source)]);
  return !result.empty() && reads(absl::string_view(result.data(), result.size()));
}

}  // namespace

std::string_view ResultOfProgramCall(const Node& node) {
  const std::string& text = FxTextOf(node);
  return text.empty() ? std::string_view() : std::string_view(text).substr(1, text.find(' ') - 1);
}

std::string_view AtenOperatorOf(const Node& node) {
  return std::string_view(node.framework_op).substr(0, node.framework_op.find('#'));
}

int NumberOfResult(std::string_view name, std::string_view aten) {
  if (name == aten) return 0;
  if (!absl::StartsWith(absl::string_view(name.data(), name.size()), absl::string_view(aten.data(), aten.size())))
    return -1;
  name.remove_prefix(aten.size());
  int number = 0;
  return name[0] == '_' && absl::SimpleAtoi(absl::string_view(name.data() + 1, name.size() - 1), &number) ? number : -1;
}

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

TensorIds UnnamedReads(const Lowering& lowering, const ProgramCall& call) {
  const Draft& draft = lowering.draft;
  TensorIds unnamed;
  for (NodeId id : call.nodes) {
    for (TensorId input : draft.node(id).inputs) {
      if (!input.valid() || (!draft.producer(input).valid() && draft.kind(input) != TensorKind::kInput)) continue;
      const NodeId maker = draft.producer(input);
      const bool own = maker.valid() && std::find(call.nodes.begin(), call.nodes.end(), maker) != call.nodes.end();
      if (own || IsNamed(lowering, call, input) || std::find(unnamed.begin(), unnamed.end(), input) != unnamed.end())
        continue;
      unnamed.push_back(input);
    }
  }
  return unnamed;
}

}  // namespace onnx_mem
