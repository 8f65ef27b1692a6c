#include "analyzer/assume/regions/own_checkpoints.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/assume/regions/grad_regions.h"
#include "analyzer/assume/regions/sequential_checkpoints.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// What a call reads that is made outside, but for parameters and buffers.
TensorIds ArgumentsOf(const Lowered& lowered, const NodeSpan& span) {
  TensorIds arguments;
  for (int32_t i = span.first; i <= span.last; ++i) {
    for (TensorId id : lowered.graph.nodes[NodeId(i)].inputs) {
      if (!id.valid()) continue;
      const TensorKind kind = lowered.kinds[id];
      const NodeId maker = lowered.graph.tensors[id].producer;
      const bool outside = !maker.valid() || maker.value() < span.first;
      if (!outside || (kind != TensorKind::kActivation && kind != TensorKind::kInput)) continue;
      if (std::find(arguments.begin(), arguments.end(), id) == arguments.end()) arguments.push_back(id);
    }
  }
  return arguments;
}

// --- use_reentrant=True

struct OwnGraph {
  std::string_view name;
  int64_t number = 0;
  NodeSpan span;
};

// Graphs of their own, those between which no line of a module ran together.
std::vector<std::vector<OwnGraph>> ChainsOf(const FrameworkGraph& graph) {
  std::vector<std::vector<OwnGraph>> chains;
  bool continues = false;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
    const FrameworkNode& node = graph.nodes[NodeId(i)];
    if (node.source_trace == nullptr) continue;
    const std::string_view name = RegionOf(node);
    OwnGraph own{.name = name, .span = {i, i}};
    const bool is_own = absl::SimpleAtoi(absl::string_view(name.data(), name.size()), &own.number);
    if (is_own && !continues) chains.emplace_back();
    continues = is_own;
    if (!is_own) continue;
    std::vector<OwnGraph>& chain = chains.back();
    if (chain.empty() || chain.back().name != name) chain.push_back(own);
    chain.back().span.last = i;
  }
  return chains;
}

// Autocast makes such graphs, too, and numbers the parameters that they read, arg6_1, where these name them. A function
// of the user's code that runs without gradients inside and trains nothing is no checkpoint.
bool NamesParameters(const FrameworkGraph& graph, const NodeSpan& span) {
  for (int32_t i = span.first; i <= span.last; ++i) {
    const FrameworkNode& node = graph.nodes[NodeId(i)];
    if (TraceHas(node, ", p_") || TraceHas(node, "(p_")) return true;
  }
  return false;
}

// The end of a checkpoint, where `next` is the graph behind it. A layer that the exporter folded the norm behind it
// into has the norm's line; where that reads what the checkpoint returned, the layer was in it:
// batch_norm.default(getitem, ...
int32_t EndOfCheckpoint(const FrameworkGraph& graph, const NodeSpan& span, const OwnGraph* next) {
  if (next == nullptr) return span.last;
  const FrameworkNode& layer = graph.nodes[NodeId(next->span.first)];
  const bool is_folded =
      !IsNorm(layer.op) && InnermostLineOf(layer).find("batch_norm.default(getitem") != std::string_view::npos;
  return is_folded ? next->span.first : span.last;
}

// 72, 73, 74, 76: every second number is of a checkpoint. The last may be a plain no_grad() behind one, where a line of
// a module follows.
void FindReentrant(const std::vector<OwnGraph>& chain, bool ends_model, Lowered& lowered,
                   std::set<std::string, std::less<>>& with_gradients) {
  std::vector<OwnGraph> graphs = chain;
  const auto is_checkpoint = [&](const OwnGraph& own) { return (own.number - chain.front().number) % 2 == 0; };
  if (!ends_model && is_checkpoint(graphs.back())) graphs.pop_back();
  const bool rises = std::is_sorted(chain.begin(), chain.end(),
                                    [](const OwnGraph& a, const OwnGraph& b) { return a.number < b.number; });
  if (chain.size() < 2 || graphs.empty() || !rises) return;
  const bool trains = std::any_of(graphs.begin(), graphs.end(), [&](const OwnGraph& own) {
    return is_checkpoint(own) && NamesParameters(lowered.graph, own.span);
  });
  if (!trains) return;
  for (size_t i = 0; i < graphs.size(); ++i) {
    with_gradients.emplace(graphs[i].name);
    if (!is_checkpoint(graphs[i])) continue;
    NodeSpan span = graphs[i].span;
    span.last = EndOfCheckpoint(lowered.graph, span, i + 1 < chain.size() ? &chain[i + 1] : nullptr);
    lowered.checkpointed.push_back({.span = span, .arguments = ArgumentsOf(lowered, span), .reentrant = true});
  }
}

// --- use_reentrant=False

constexpr std::string_view kCheckpoint = "checkpoint";  // of torch.utils.checkpoint

class CheckpointLines {
 public:
  explicit CheckpointLines(Lowered& lowered) : lowered_(lowered) {}

  void Find() {
    const FrameworkGraph& graph = lowered_.graph;
    for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) {
      const FrameworkNode& node = graph.nodes[NodeId(i)];
      if (node.source_trace != nullptr) Read(node, i);
    }
    Close();
  }

 private:
  // The call of a module on the line, "" for an operator.
  struct Open {
    const SourceLine* line = nullptr;
    std::vector<std::string> around;
    std::string unit;
    NodeSpan span;
  };

  void Read(const FrameworkNode& node, int32_t index) {
    if (!TraceHas(node, kCheckpoint)) return Close();  // most are not worth reading
    const SourceLines& lines = traces_.Read(node);
    const auto found = std::find_if(lines.begin(), lines.end(), [](const auto& line) {
      return line != nullptr && FindCall(line->text, kCheckpoint) != std::string_view::npos;
    });
    if (found == lines.end()) return Close();
    const auto depth = found - lines.begin();
    Open call{.line = found->get(),
              .around = {node.calls.begin(), node.calls.begin() + depth},
              .unit = depth < std::ssize(node.calls) ? node.calls[static_cast<size_t>(depth)] : std::string(),
              .span = {index, index}};
    const bool same = open_ && open_->line == call.line && open_->around == call.around && !IsNextRound(call.unit);
    if (!same) {
      Close();
      open_ = std::move(call);
      return;
    }
    open_->unit = call.unit;
    open_->span.last = index;
  }

  // for block in self.blocks: x = checkpoint(block, x)
  bool IsNextRound(const std::string& unit) const {
    return !unit.empty() && unit != open_->unit && WithoutElementNumbers(unit) == WithoutElementNumbers(open_->unit);
  }

  void Close() {
    if (!open_) return;
    lowered_.checkpointed.push_back({.span = open_->span, .arguments = ArgumentsOf(lowered_, open_->span)});
    open_.reset();
  }

  Lowered& lowered_;
  SourceTraceReader traces_;
  std::optional<Open> open_;
};

void AddInOrder(const std::vector<NodeSpan>& spans, Lowered& lowered) {
  for (const NodeSpan& span : spans)
    lowered.checkpointed.push_back({.span = span, .arguments = ArgumentsOf(lowered, span)});
  std::sort(lowered.checkpointed.begin(), lowered.checkpointed.end(),
            [](const CheckpointCall& a, const CheckpointCall& b) { return a.span.first < b.span.first; });
}

}  // namespace

bool CheckpointOpenSequences(Lowered& lowered) {
  const std::vector<NodeSpan> spans = FindOpenSequences(lowered.graph);
  AddInOrder(spans, lowered);
  return !spans.empty();
}

std::set<std::string, std::less<>> FindOwnCheckpoints(Lowered& lowered) {
  std::set<std::string, std::less<>> with_gradients;
  const auto last = static_cast<int32_t>(lowered.graph.nodes.size()) - 1;
  for (const std::vector<OwnGraph>& chain : ChainsOf(lowered.graph))
    FindReentrant(chain, chain.back().span.last == last, lowered, with_gradients);
  CheckpointLines(lowered).Find();
  AddInOrder(FindSequentialCheckpoints(lowered.graph), lowered);
  if (!lowered.checkpointed.empty()) {
    lowered.assumptions.push_back(
        absl::StrCat("calls of torch.utils.checkpoint that the file shows (", lowered.checkpointed.size(), ")"));
  }
  return with_gradients;
}

}  // namespace onnx_mem
