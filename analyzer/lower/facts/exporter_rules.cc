#include "analyzer/lower/facts/exporter_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kRuleName = "pkg.onnxscript.rewriter.rule_name";  // onnxscript, _rewrite_rule.py

enum class Handling {
  kUndone,  // lowering puts back what the framework ran
  kSame,    // views, sizes and numbers of the host: the same memory either way
  kLost,    // an operator is gone that may have kept a tensor, and nothing tells which
};

struct RuleRow {
  std::string_view name;
  Handling handling;
  std::string_view what;  // who undoes it, or what is lost
};

// onnxscript/rewriter/__init__.py (_DEFAULT_REWRITE_RULES) and rewriter/onnx_fusions, as of onnxscript 0.7.
constexpr auto kRules = std::to_array<RuleRow>({
    {"FuseBatchNormIntoConv", Handling::kUndone, "exporters/folded_batch_norm.cc"},
    {"FuseBatchNormIntoConvTranspose", Handling::kUndone, "exporters/folded_batch_norm.cc"},
    {"FuseBatchNormIntoGemm", Handling::kUndone, "exporters/folded_batch_norm.cc"},
    {"RemoveOptionalBiasFromConv", Handling::kUndone, "lost_tensors.cc"},
    {"RemoveOptionalBiasFromConvTranspose", Handling::kUndone, "lost_tensors.cc"},
    {"RemoveOptionalBiasFromGemm", Handling::kUndone, "lost_tensors.cc"},
    {"RemoveOptionalBiasFromQLinearConv", Handling::kSame, "not trained"},
    {"FuseConvPad", Handling::kUndone, "operators/convolution.cc"},
    {"FuseConvIntegerPad", Handling::kSame, "not trained"},
    {"NormalizePadFormatConv", Handling::kSame, "operators/convolution.cc pads apart where the sides differ"},
    {"NormalizePadFormatConvInteger", Handling::kSame, "not trained"},
    {"SlicesSplit", Handling::kUndone, "operators/views.cc"},
    {"MaterializeReshapeShape", Handling::kSame, "a shape"},
    {"ReshapeReshape", Handling::kSame, "a view"},
    {"Flatten2Reshape", Handling::kSame, "a view"},
    {"SqueezeReshape1d", Handling::kSame, "a shape"},
    {"TransposeIdentity", Handling::kSame, "a view"},
    {"TransposeTranspose", Handling::kSame, "a view"},
    {"UnsqueezeUnsqueeze", Handling::kSame, "a view"},
    {"ExpandIdentity", Handling::kSame, "a view"},
    {"CastIdentity", Handling::kSame, "no copy: Tensor.to() of the same type gives the tensor itself"},
    {"CastCast", Handling::kLost, "a conversion between two others"},
    {"FuseSuccessiveRelu", Handling::kLost, "one of two activations"},
    {"FuseSuccessiveClip", Handling::kLost, "one of two activations"},
    {"FuseSuccessiveReluClip", Handling::kLost, "one of two activations"},
    {"FuseSuccessiveClipRelu", Handling::kLost, "one of two activations"},
    {"FuseSuccessiveMin", Handling::kLost, "one of two bounds"},
    {"FuseSuccessiveMax", Handling::kLost, "one of two bounds"},
    {"FuseMinMaxToClip", Handling::kLost, "one of two bounds"},
    {"FuseMaxMinToClip", Handling::kLost, "one of two bounds"},
    {"ScatterAllDynamic", Handling::kLost, "a write over a whole tensor"},
    {"ScatterAllStatic", Handling::kLost, "a write over a whole tensor"},
    {"RmsNormFusion1", Handling::kLost, "the operators of a norm"},
    {"RmsNormFusion2", Handling::kLost, "the operators of a norm"},
    {"RotaryEmbedding23", Handling::kLost, "the operators of a rotary embedding"},
    {"PartialRotaryEmbedding23Fusion", Handling::kLost, "the operators of a rotary embedding"},
    {"ONNXGQA", Handling::kLost, "the operators of an attention"},
});

std::vector<absl::string_view> RulesOf(const Node& node) {
  const auto entry = node.metadata.find(kRuleName);
  if (entry == node.metadata.end()) return {};
  return absl::StrSplit(entry->second, ", ", absl::SkipEmpty());
}

const RuleRow* FindRule(absl::string_view name) {
  const auto* row = std::find_if(kRules.begin(), kRules.end(), [&](const RuleRow& r) {
    return absl::string_view(r.name.data(), r.name.size()) == name;
  });
  return row == kRules.end() ? nullptr : row;
}

// A call of which several nodes were made (clamp: Max, then Min) and one again: nothing is lost, and what the call
// reads is what the node reads.
bool IsOneCall(const Graph& graph, const Node& node) {
  const FxCall call = FxCallOf(node);
  return !call.args.empty() && !node.inputs.empty() && node.inputs[0].valid() &&
         graph.tensors[node.inputs[0]].name == call.args[0];
}

using Counts = std::map<std::string, int64_t>;

Diagnostic Report(Code code, const Counts& counts, std::string_view text, std::vector<std::string> details) {
  int64_t total = 0;
  for (const auto& [rule, count] : counts) total += count;
  const std::string rules = absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (x", entry.second, ")");
  });
  details.insert(details.begin(), absl::StrCat("what: ", rules));
  return {code, Severity::kWarning, total, absl::StrCat(total, " ", std::string(text)), std::move(details), {}};
}

}  // namespace

bool HasRule(const Node& node, std::string_view rule) {
  const std::vector<absl::string_view> rules = RulesOf(node);
  return std::find(rules.begin(), rules.end(), absl::string_view(rule.data(), rule.size())) != rules.end();
}

std::vector<Diagnostic> CheckExporterRules(const Graph& graph) {
  Counts lost, unknown;
  for (const Node& node : graph.nodes) {
    for (absl::string_view name : RulesOf(node)) {
      const RuleRow* row = FindRule(name);
      if (row == nullptr) ++unknown[std::string(name)];
      if (row == nullptr || row->handling != Handling::kLost || IsOneCall(graph, node)) continue;
      ++lost[absl::StrCat(std::string(name), ": ", std::string(row->what))];
    }
  }
  const std::string as_exported(kExportRecipe);
  std::vector<Diagnostic> diagnostics;
  if (!lost.empty()) {
    diagnostics.push_back(Report(Code::kExporterRule, lost, "rewrites of the exporter took operators away",
                                 {"why: what they kept for backward is not counted", as_exported}));
  }
  if (!unknown.empty()) {
    diagnostics.push_back(Report(Code::kExporterRuleUnknown, unknown, "rewrites of the exporter are not known here",
                                 {"why: they are of another version; the model may run other operators", as_exported}));
  }
  return diagnostics;
}

}  // namespace onnx_mem
