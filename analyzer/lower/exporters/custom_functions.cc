// torch.autograd.Functions: the file has the operators of their forward(), which run without autograd. What is kept for
// backward is what forward() itself saves, and no export shows that. Such functions are written to keep less than
// autograd would, and what they keep is as a rule what they are given, from which backward computes the rest again
// (memory-efficient Swish). All operators of one call are one that saves its inputs:
//
//   sigmoid, mul under `return SwishFunction.apply(x)`  ->  custom_function(x)
//
// Source: torch/autograd/function.py; the frames of dynamo's stack traces (exported/function_call.h).
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/exported/function_call.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {

int64_t JoinCustomFunctions(Lowering& lowering);
int64_t SaveFunctionInputs(Lowering& lowering);

namespace {

struct CustomCall {
  FunctionCall function;
  std::vector<std::string> calls;  // of modules, around it
  NodeIds nodes;
};

// The module calls that enclose the call of the function: one for each frame above it but the model's own.
std::vector<std::string> CallsAround(const FrameworkNode& node, const FunctionCall& function) {
  size_t frames = 0;
  for (size_t at = function.trace.find("File \""); at != std::string::npos; at = function.trace.find("File \"", at + 1))
    ++frames;
  std::vector<std::string> calls = node.calls;
  calls.resize(std::min(calls.size(), frames == 0 ? 0 : frames - 1));
  return calls;
}

// A line further up, or the operator with which the call began, is where the next call of the same function begins.
bool BeginsAnother(const Draft& draft, const CustomCall& call, const FrameworkNode& node,
                   const FunctionCall& function) {
  if (function.line < call.function.line) return true;
  const FrameworkNode& first = draft.node(call.nodes.front());
  return function.line == CalledFunction(first)->line && node.op == first.op;
}

// Whether frames without a call are Functions' where no line shows the call: not where one of them is a module's, as
// the exporter lost calls then, and not where one writes into some elements of a tensor, of which an export makes a
// copy each time, so that what forward() takes is not to be read.
bool TrustsUnnamed(const Draft& draft) {
  const auto writes = [](const OpFacts& op) { return op.HasAny(op_trait::kWritesInto); };
  const NodeIds nodes = draft.InOrder();
  return std::none_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const std::optional<FunctionCall> function = CalledFunction(draft.node(id));
    return function && function->unnamed && (function->of_module || writes(draft.node(id).op));
  });
}

// The calls in running order. Operators that the exporter added have no trace: they belong to a call if they stand
// between two of its operators.
std::vector<CustomCall> FindCalls(const Draft& draft) {
  std::vector<CustomCall> calls;
  const bool trusts_unnamed = TrustsUnnamed(draft);
  NodeIds between;
  bool open = false;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    const std::optional<FunctionCall> function = CalledFunction(node);
    if (!function || (function->unnamed && !trusts_unnamed)) {
      between.push_back(id);
      open = open && node.source_trace == nullptr;
      continue;
    }
    std::vector<std::string> around = CallsAround(node, *function);
    const bool continues = open && function->trace == calls.back().function.trace && around == calls.back().calls &&
                           !BeginsAnother(draft, calls.back(), node, *function);
    if (continues) {
      calls.back().nodes.insert(calls.back().nodes.end(), between.begin(), between.end());
    } else {
      calls.push_back({*function, std::move(around), {}});
    }
    calls.back().nodes.push_back(id);
    calls.back().function.line = function->line;
    between.clear();
    open = true;
  }
  return calls;
}

int64_t BytesOf(const Draft& draft, TensorId id) {
  return NumBytes(draft.tensor(id).shape, draft.tensor(id).dtype).value_or(0);
}

// The most that forward() holds at once beside what it is given and what it returns.
int64_t TemporaryBytes(const Draft& draft, const NodeIds& nodes, const TensorIds& outputs) {
  absl::flat_hash_map<TensorId, size_t> last_read;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (TensorId input : draft.node(nodes[i]).inputs) {
      if (input.valid()) last_read[input] = i;
    }
  }
  std::map<size_t, int64_t> freed;  // after which node how much is freed
  int64_t live = 0, most = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (TensorId made : draft.node(nodes[i]).outputs) {
      if (!made.valid() || std::find(outputs.begin(), outputs.end(), made) != outputs.end()) continue;
      live += BytesOf(draft, made);
      freed[last_read.contains(made) ? last_read[made] : i] += BytesOf(draft, made);
    }
    most = std::max(most, live);
    live -= freed[i];
  }
  return most;
}

// What forward() makes beside what it returns, each counted once: at most it keeps all of that for backward.
int64_t BytesMade(const Draft& draft, const NodeIds& nodes, const TensorIds& outputs) {
  int64_t bytes = 0;
  for (NodeId id : nodes) {
    if (IsView(draft.node(id).op)) continue;
    for (TensorId made : draft.node(id).outputs) {
      const bool inner = made.valid() && std::find(outputs.begin(), outputs.end(), made) == outputs.end();
      if (inner) bytes += BytesOf(draft, made);
    }
  }
  return bytes;
}

// True if nothing outside of the call reads what it makes before the call is over.
bool IsReadAfterwards(const Draft& draft, TensorId id, const absl::flat_hash_set<NodeId>& members, Rank last) {
  const NodeIds& readers = draft.readers(id);
  return std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return members.contains(reader) || draft.rank(reader) > last; });
}

// Puts the one operator in the place of those of `call`; false where they give nothing, or not at once.
bool MakeOne(Draft& draft, const CustomCall& call, int64_t& saved_bytes) {
  const absl::flat_hash_set<NodeId> members(call.nodes.begin(), call.nodes.end());
  const Rank last = draft.rank(call.nodes.back());
  TensorIds inputs, outputs;
  for (NodeId id : call.nodes) {
    for (TensorId input : draft.node(id).inputs) {
      const bool inside = !input.valid() || members.contains(draft.producer(input));
      if (!inside && std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
    }
    for (TensorId made : draft.node(id).outputs) {
      if (!made.valid()) continue;
      if (!IsReadAfterwards(draft, made, members, last)) return false;
      const NodeIds& readers = draft.readers(made);
      const bool leaves = draft.IsOutput(made) || std::any_of(readers.begin(), readers.end(),
                                                              [&](NodeId reader) { return !members.contains(reader); });
      if (leaves) outputs.push_back(made);
    }
  }
  if (inputs.empty() || outputs.empty()) return false;
  for (TensorId input : inputs) saved_bytes += draft.producer(input).valid() ? BytesOf(draft, input) : 0;
  FrameworkNode one = MakeNode("custom_function", inputs, outputs);
  one.attributes["workspace_bytes"] = TemporaryBytes(draft, call.nodes, outputs);
  one.attributes["made_bytes"] = BytesMade(draft, call.nodes, outputs);
  one.attributes["saves"] = std::string("nothing");
  const NodeId id = Replace(draft, call.nodes, std::move(one), last);
  FrameworkNode& made = draft.mutable_node(id);
  made.calls = call.calls;
  made.module = call.calls.empty() ? std::string() : made.module;
  made.framework_op.clear();
  made.source_trace = std::make_shared<const std::string>(call.function.trace);
  return true;
}

}  // namespace

int64_t JoinCustomFunctions(Lowering& lowering) {
  if (!lowering.run.training) return 0;
  int64_t count = 0, bytes = 0;
  std::map<std::string, int64_t> names;
  for (const CustomCall& call : FindCalls(lowering.draft)) {
    if (!MakeOne(lowering.draft, call, bytes)) continue;
    ++count;
    ++names[call.function.name];
  }
  if (count == 0) return 0;
  const std::string list = absl::StrJoin(names, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (x", entry.second, ")");
  });
  lowering.diagnostics.push_back(
      {Code::kCustomFunction,
       Severity::kWarning,
       count,
       absl::StrCat(count, count == 1 ? " call" : " calls",
                    " of an autograd.Function written by hand, taken to save what it is given: ", list),
       {absl::StrCat("why: what it keeps for backward stands in its code, not in the file; its inputs are ",
                     FormatBytes(bytes), " in all", AtBatch(lowering.source)),
        "try: ... --no-rewrite custom-function   # counts what autograd would keep of the operators in it",
        "try: ... --no-rewrite function-inputs   # if it keeps nothing"},
       bytes});
  return count;
}

int64_t SaveFunctionInputs(Lowering& lowering) {
  int64_t count = 0;
  for (NodeId id : lowering.draft.InOrder()) {
    if (lowering.draft.node(id).op != "custom_function") continue;
    lowering.draft.mutable_node(id).attributes["saves"] = std::string("inputs");
    ++count;
  }
  return count;
}

}  // namespace onnx_mem
