#include "cli/answers/unmatched.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "analyzer/graph/name_pattern.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "cli/options/option_values.h"

namespace onnx_mem {
namespace {

absl::Status CheckName(std::string_view option, Code code, const std::string& name,
                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  std::vector<std::string> details;
  if (std::string hint = DidYouMean(name, known); !hint.empty()) details.push_back(std::move(hint));
  return ErrorStatus(absl::StatusCode::kInvalidArgument, code,
                     absl::StrFormat("%s %s: the model has %s", option, name, MeaningOf(code)), std::move(details));
}

// Every module path and its parents.
std::set<std::string> ModulesOf(const MemoryProgram& program) {
  std::set<std::string> modules;
  for (const Step& step : program.steps) {
    const std::string& module = step.module;
    for (size_t end = module.find('.'); end != std::string::npos; end = module.find('.', end + 1)) {
      modules.insert(module.substr(0, end));
    }
    if (!module.empty()) modules.insert(module);
  }
  return modules;
}

Diagnostic NoMatch(std::string_view option, const std::string& pattern, std::string_view what,
                   std::string_view try_by) {
  Diagnostic warning;
  warning.code = Code::kNoMatch;
  warning.severity = Severity::kWarning;
  warning.message = absl::StrFormat("%s '%s' matches no %s, so it changes nothing", option, pattern, what);
  warning.details = {absl::StrFormat("try: onnx-mem MODEL %s   # lists the names", try_by)};
  return warning;
}

}  // namespace

absl::Status CheckNames(const Run& run, const Graph& graph) {
  if (run.hold.empty() && run.requires_grad.empty()) return absl::OkStatus();
  std::vector<std::string> tensors, inputs;
  for (const Tensor& tensor : graph.tensors) {
    tensors.push_back(tensor.name);
    if (!tensor.path.empty()) tensors.push_back(tensor.path);
  }
  for (TensorId input : graph.inputs) inputs.push_back(graph.tensors[input].name);
  for (const std::string& name : run.hold) RETURN_IF_ERROR(CheckName("--hold", Code::kUnknownTensor, name, tensors));
  for (const std::string& name : run.requires_grad) {
    RETURN_IF_ERROR(CheckName("--requires-grad", Code::kUnknownInput, name, inputs));
  }
  return absl::OkStatus();
}

namespace {

// What a pattern spells, without the signs of its grammar: "^layer\\.4" -> "layer.4".
std::string WordsOf(const std::string& pattern) {
  std::string words;
  for (char c : pattern) {
    if (std::string_view("^$\\()[]{}?*+|!=<:").find(c) == std::string_view::npos) words.push_back(c);
  }
  const size_t first = words.find_first_not_of('.');
  if (first == std::string::npos) return "";
  return words.substr(first, words.find_last_not_of('.') - first + 1);
}

// Parameters, their modules, and the parts of both: what a pattern may have meant.
std::vector<std::string> PartsOf(std::span<const std::vector<Parameter>> models) {
  std::vector<std::string> parts;
  std::set<std::string> seen;
  const auto add = [&](std::string part) {
    if (seen.insert(part).second) parts.push_back(std::move(part));
  };
  for (const std::vector<Parameter>& parameters : models) {
    for (const Parameter& parameter : parameters) {
      add(parameter.name);
      for (size_t dot = parameter.name.find('.'), begin = 0;; dot = parameter.name.find('.', begin)) {
        add(parameter.name.substr(begin, dot - begin));
        if (dot == std::string::npos) break;
        add(parameter.name.substr(0, dot));
        begin = dot + 1;
      }
    }
  }
  return parts;
}

absl::Status NothingToFreeze(const std::string& pattern, std::span<const std::vector<Parameter>> models) {
  constexpr size_t kNames = 3;
  std::vector<std::string> details;
  if (std::string hint = DidYouMean(WordsOf(pattern), PartsOf(models)); !hint.empty()) {
    details.push_back(std::move(hint));
  } else {
    std::string names;
    const std::vector<Parameter>& first = models.front();
    for (size_t i = 0; i < std::min(kNames, first.size()); ++i) names += (i == 0 ? "" : ", ") + first[i].name;
    if (!names.empty()) details.push_back("why: its parameters are " + names + (first.size() > kNames ? " ..." : ""));
  }
  details.push_back("try: onnx-mem MODEL --by tensor -n 0   # lists the names");
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNoMatch,
                     absl::StrFormat("--freeze '%s' matches no parameter", pattern), std::move(details));
}

}  // namespace

absl::Status CheckFreeze(const Run& run, std::span<const std::vector<Parameter>> models) {
  for (const std::string& pattern : run.freeze) {
    const std::optional<NamePattern> compiled = NamePattern::Compile(pattern);
    const bool matched = std::any_of(models.begin(), models.end(), [&](const std::vector<Parameter>& parameters) {
      return std::any_of(parameters.begin(), parameters.end(),
                         [&](const Parameter& p) { return compiled->FoundIn(p.name); });
    });
    if (!matched) return NothingToFreeze(pattern, models);
  }
  return absl::OkStatus();
}

namespace {

// --inplace takes words, in any case, and a pattern over nodes and modules alike.
bool MatchesInPlace(const std::string& pattern, const Analysis& analysis) {
  if (pattern.empty() || !InPlaceWord(pattern).empty()) return true;
  const std::optional<NamePattern> compiled = NamePattern::Compile(pattern);
  const std::set<std::string> modules =
      ModulesOf(analysis.training() ? *analysis.training()->program : *analysis.inference()->program);
  return std::any_of(modules.begin(), modules.end(),
                     [&](const std::string& path) { return compiled->FoundIn(path); }) ||
         std::any_of(analysis.graph->nodes.begin(), analysis.graph->nodes.end(),
                     [&](const Node& node) { return compiled->FoundIn(node.name); });
}

}  // namespace

std::vector<Diagnostic> UnmatchedPatterns(const Run& run, const Analysis& analysis) {
  std::vector<Diagnostic> warnings;
  if ((analysis.training() || analysis.inference()) && !MatchesInPlace(run.inplace, analysis)) {
    warnings.push_back(NoMatch("--inplace", run.inplace, "node and no module", "--by layer -n 0"));
    warnings.back().message =
        absl::StrFormat("--inplace '%s' matches no node and no module, so nothing runs in place", run.inplace);
  }
  if (!analysis.training()) return warnings;
  if (run.checkpointed.empty()) return warnings;
  const std::set<std::string> modules = ModulesOf(*analysis.training()->program);
  for (const std::string& pattern : run.checkpointed) {
    const std::optional<NamePattern> compiled = NamePattern::Compile(pattern);
    const bool matched =
        std::any_of(modules.begin(), modules.end(), [&](const std::string& path) { return compiled->Matches(path); });
    if (!matched) warnings.push_back(NoMatch("--checkpointed", pattern, "module", "--by layer -n 0"));
  }
  return warnings;
}

}  // namespace onnx_mem
