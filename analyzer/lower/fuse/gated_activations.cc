// Activations of the form x * gate(x) that TorchScript exports spell out: SiLU (sigmoid), Hardswish (hardsigmoid) and
// Mish (tanh of softplus), when the parts ran in one module call; and GLU, one half of x times the sigmoid of the
// other.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/draft/patterns.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

// What is taken for one function of the framework and may be code of its own, which saves more.
struct Guess {
  Code code;                  // of the diagnostic
  std::string_view rewrite;   // that takes it so
  std::string_view spelled;   // in the file
  std::string_view function;  // that it is taken for
  std::string_view saved;     // for backward too, if it was written by hand
  Pattern pattern;
};

bool IsInHalves(const Draft& draft, const Expression::Match& match, FrameworkNode&) {
  const std::vector<int64_t> sizes = IntsAttribute(draft.node(match.named.at('S')), "sizes");
  return sizes.size() == 2 && sizes[0] == sizes[1];
}

// The gate stands second, as the exporters write it for the framework's own function; sigmoid(x) * x is code
// (torch/onnx symbolic_opset9.py, silu and glu; onnxscript's aten_silu), or a tool swapped the operands.
constexpr Guess kSilu = {Code::kSiluAssumed, "silu",       "x * sigmoid(x)",
                         "nn.SiLU",          "sigmoid(x)", {"mul!(x,sigmoid(x))", "silu(x)"}};
constexpr Guess kHardswish = {Code::kHardswishAssumed, "hardswish",      "x * hardsigmoid(x)",
                              "nn.Hardswish",          "hardsigmoid(x)", {"mul(x,hardsigmoid(x))", "hardswish(x)"}};
constexpr Guess kMish = {Code::kMishAssumed,         "mish",
                         "x * tanh(softplus(x))",    "nn.Mish",
                         "softplus(x) and its tanh", {"mul(x,tanh(softplus(x)))", "mish(x)"}};
constexpr Guess kGlu = {Code::kGluAssumed, "glu",
                        "a * sigmoid(b)",  "nn.GLU",
                        "sigmoid(b)",      {"mul!(S:split{axis=$a}(x),sigmoid(S.1))", "glu{axis=$a}(x)", IsInHalves}};

// nn.SiLU's operators are those of F.silu and of code that spells it out: TorchScript exports of all three are alike
// (torch/onnx symbolic_opset9.py). A module that does nothing else is nearly always the framework's own; in the code of
// a larger one it is either.
void ReportGuess(Lowering& lowering, const Guess& guess, const NodeIds& fused) {
  if (!lowering.run.training || fused.empty()) return;
  const Draft& draft = lowering.draft;
  const absl::flat_hash_set<NodeId> own(fused.begin(), fused.end());
  std::map<std::string_view, int64_t> nodes;  // other ones, by module
  int64_t made_bytes = 0;
  const auto bytes_of = [&](const FrameworkNode& node) {
    const Tensor& result = draft.tensor(node.outputs[0]);
    return NumBytes(result.shape, result.dtype).value_or(0);
  };
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (!own.contains(id)) ++nodes[node.module];
    if (!node.outputs.empty() && node.outputs[0].valid()) made_bytes += bytes_of(node);
  }
  int64_t bytes = 0, bytes_in_code = 0;
  for (NodeId id : fused) {
    const FrameworkNode& node = draft.node(id);
    bytes += bytes_of(node);
    if (node.module.empty() || nodes.contains(node.module)) bytes_in_code += bytes_of(node);
  }
  constexpr int64_t kNoticeable = 100;  // one part in
  const auto count = static_cast<int64_t>(fused.size());
  lowering.diagnostics.push_back(
      {guess.code,
       bytes_in_code * kNoticeable > made_bytes ? Severity::kWarning : Severity::kNote,
       count,
       absl::StrCat(count, " ", std::string(guess.spelled), " are taken for ", std::string(guess.function)),
       {absl::StrCat("why: a module or function of your own that spells it out keeps ", std::string(guess.saved),
                     " for backward too, ", FormatBytes(bytes), " in all", AtBatch(lowering.source)),
        absl::StrCat("try: ... --no-rewrite ", std::string(guess.rewrite), "   # if it does")},
       bytes});
}

// Behind the others: what is left matches with its operands swapped alone.
void MarkSwapped(Lowering& lowering, const Guess& guess, const Patterns& patterns) {
  const NodeIds swapped = patterns.Find(lowering.draft);
  for (NodeId id : swapped) lowering.draft.mutable_node(id).attributes[std::string(kMaybeSwapped)] = int64_t{1};
  if (swapped.empty() || !lowering.run.training) return;
  const auto count = static_cast<int64_t>(swapped.size());
  lowering.diagnostics.push_back(
      {guess.code,
       Severity::kNote,
       count,
       absl::StrCat(count, " products of a gate and what it gates, in this order, are counted as code that spells out ",
                    std::string(guess.function)),
       {absl::StrCat("why: exporters write ", std::string(guess.spelled), " for ", std::string(guess.function),
                     ", which saves less; the range holds both"),
        "try: ... --no-rewrite operand-order   # if a tool swapped the two"},
       {}});
}

template <const Guess& kGuess>
int64_t FuseGuessed(Lowering& lowering) {
  static const auto& as_written = *new Patterns({&kGuess.pattern, 1});
  static const auto& in_any_order = *new Patterns({&kGuess.pattern, 1}, Order::kAny);
  NodeIds made = (OrderIn(lowering.run) == Order::kAny ? in_any_order : as_written).Fuse(lowering.draft);
  MarkSwapped(lowering, kGuess, in_any_order);
  const auto count = static_cast<int64_t>(made.size());
  // What the exporter's metadata tells is no guess.
  EraseIf(made, [&](NodeId id) { return !lowering.draft.node(id).framework_op.empty(); });
  ReportGuess(lowering, kGuess, made);
  return count;
}

}  // namespace

int64_t FuseSilu(Lowering& lowering) { return FuseGuessed<kSilu>(lowering); }
int64_t FuseHardswish(Lowering& lowering) { return FuseGuessed<kHardswish>(lowering); }
int64_t FuseMish(Lowering& lowering) { return FuseGuessed<kMish>(lowering); }
int64_t FuseGlu(Lowering& lowering) { return FuseGuessed<kGlu>(lowering); }

}  // namespace onnx_mem
