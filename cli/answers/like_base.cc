#include "cli/answers/like_base.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "cli/options/option_table.h"

namespace onnx_mem {
namespace {

// One name of Analysis::assumptions: what its absence means, whether it is about training alone, and what parts its
// values where there are several ("" where there is one).
struct AssumptionRow {
  std::string_view name;
  std::string_view absent;
  bool training_alone;
  std::string_view separator = "";
};
constexpr auto kAssumptions = std::to_array<AssumptionRow>({
    {"optimizer", "", true},
    {"optimizer-impl", "foreach", true},
    {"weight-decay", "none", true},
    {"accumulate", "1", true},
    {"loss", "", true},
    {"freeze", "nothing", true},
    {"lora", "nothing", true, "; "},
    {"base-bits", "", false},
    {"requires-grad", "nothing", true, ","},
    {"checkpointed", "nothing", true},
    {"segment", "nothing", true, "; "},
    {"dropout", "auto", true},
    {"inplace", "", false},
    {"attention", "", false},
    {"bn", "", true},
    {"dtype", "", false},
    {"amp", "", false},
    {"for", "pytorch", false},
    {"device", "gpu", false},
    {"sessions", "1", false},
    {"allocator", "", false},
    {"torch", "the file's", false},
    {"cudnn-benchmark", "off", false},
    {"tied", "auto", false},
    {"hold", "nothing", false, ","},
    {"no-rewrite", "nothing", false},
});

std::string ValueOf(const ComparedSide& side, const AssumptionRow& row) {
  for (const auto& [name, value] : side.report.assumptions) {
    if (name == row.name) return value;
  }
  return std::string(row.absent);
}

bool Trains(const ComparedSide& side) { return side.report.runs.front().training.has_value(); }

std::string VersionOf(const ComparedSide& side) {
  if (!side.saved) return ONNX_MEM_VERSION;
  return side.version.empty() ? "a version that it does not tell" : side.version;
}

// The option of this name; each assumption has one.
const OptionRow* OptionNamed(std::string_view name) {
  for (const OptionRow& row : OptionRows()) {
    if (row.long_name.size() == name.size() + 2 && row.long_name.substr(2) == name) return &row;
  }
  return nullptr;
}

absl::Status Other(std::string message, std::vector<std::string> details) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kOtherAssumptions, message, std::move(details));
}

std::vector<std::string> WaysOut(const ComparedSide& base, const ComparedSide& head) {
  const std::string why = "why: the difference would be that of the assumptions, not of the models";
  if (!head.saved) return {why, "try: --like base, to analyze the model as the base was, or the same options"};
  const std::string& again = base.saved ? head.report.model.path : base.report.model.path;
  return {why, absl::StrFormat("try: %s with the same options%s",
                               base.saved ? "save " + again + " again" : "analyze " + again,
                               base.saved ? ", or compare the models themselves" : " as the report was saved with")};
}

}  // namespace

absl::Status CheckSameAssumptions(const ComparedSide& base, const ComparedSide& head) {
  if (!base.saved && !head.saved) return absl::OkStatus();
  const std::string &base_path = base.report.model.path, &head_path = head.report.model.path;
  if (VersionOf(base) != VersionOf(head)) {
    const std::string& old = base.saved ? base_path : head_path;
    return Other(
        absl::StrFormat("'%s' is of onnx-mem %s, '%s' of %s", base_path, VersionOf(base), head_path, VersionOf(head)),
        {"why: another version may count differently", absl::StrFormat("try: save '%s' again", old)});
  }
  const bool train = Trains(base) && Trains(head);
  std::vector<std::string> differences;
  for (const AssumptionRow& row : kAssumptions) {
    if (row.training_alone && !train) continue;
    const std::string ours = ValueOf(base, row), theirs = ValueOf(head, row);
    if (ours == theirs || ours.empty() || theirs.empty()) continue;
    differences.push_back(absl::StrFormat("%s %s and %s", row.name, ours, theirs));
  }
  if (differences.empty()) return absl::OkStatus();
  return Other(absl::StrFormat("'%s' and '%s' assume different things: %s", base_path, head_path,
                               absl::StrJoin(differences, ", ")),
               WaysOut(base, head));
}

absl::Status TakeOver(const ComparedSide& base, Options& options) {
  for (const AssumptionRow& row : kAssumptions) {
    const std::string value = ValueOf(base, row);
    if (value.empty() || value == row.absent) continue;
    const OptionRow* option = OptionNamed(row.name);
    if (option == nullptr) continue;
    if (row.name == "freeze") options.workload.run.freeze.clear();
    if (row.name == "lora") options.workload.run.lora.clear();
    if (row.name == "checkpointed") options.workload.run.checkpointed.clear();
    if (row.name == "segment") options.workload.run.segments.clear();
    if (row.name == "requires-grad") options.workload.run.requires_grad.clear();
    if (row.name == "hold") options.workload.run.hold.clear();
    if (row.name == "no-rewrite") options.workload.run.disabled_rewrites.clear();
    std::vector<std::string> values = {value};
    if (!row.separator.empty()) {
      values = absl::StrSplit(value, absl::string_view(row.separator.data(), row.separator.size()));
    }
    for (std::string& each : values) {
      if (row.name == "optimizer") each = std::string(absl::StripSuffix(each, " bytes per parameter"));
      if (row.name == "segment" && absl::StrContains(each, " keeping ")) {
        return Other(absl::StrFormat("--like base: the selective checkpoints of '%s' cannot be taken over",
                                     base.report.model.path),
                     {"try: the model with --plan FILE -o head.json, and compare the two reports"});
      }
      const absl::Status applied = option->apply(each, options);
      if (!applied.ok()) {
        return Other(absl::StrFormat("--like base: %s of '%s' cannot be taken over: %s", row.name,
                                     base.report.model.path, DiagnosticOf(applied).message),
                     {"try: the same options by hand"});
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
