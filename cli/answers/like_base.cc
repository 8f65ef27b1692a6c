#include "cli/answers/like_base.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/study/assumption_list.h"
#include "cli/options/option_table.h"

namespace onnx_mem {
namespace {

std::string ValueOf(const ComparedSide& side, const ReportedOption& option) {
  for (const auto& [name, value] : side.report.assumptions) {
    if (name == option.name) return value;
  }
  return std::string(option.absent);
}

bool Trains(const ComparedSide& side) { return side.report.runs.front().training.has_value(); }

std::string VersionOf(const ComparedSide& side) {
  if (!side.saved) return ONNX_MEM_VERSION;
  return side.version.empty() ? "a version that it does not tell" : side.version;
}

absl::Status Other(std::string message, std::vector<std::string> details) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kOtherAssumptions, message, std::move(details));
}

std::vector<std::string> WaysOut(const ComparedSide& base, const ComparedSide& head) {
  const std::string why = "why: the difference would be that of the assumptions, not of the models";
  if (!head.saved) return {why, "try: ... --like base   # analyzes the model as the base was"};
  const std::string& again = base.saved ? head.report.model.path : base.report.model.path;
  return {why, absl::StrFormat("way out: %s with the same options%s",
                               base.saved ? "save " + again + " again" : "analyze " + again,
                               base.saved ? ", or compare the models themselves" : " as the report was saved with")};
}

// What a report says of an option, as the option takes it.
std::vector<std::string> TextsOf(const ReportedOption& option, std::string value) {
  if (option.name == "optimizer" && value.ends_with(kBytesPerParameter)) {
    value.resize(value.size() - kBytesPerParameter.size());
  }
  if (option.separator.empty()) return {value};
  return absl::StrSplit(value, std::string(option.separator));
}

}  // namespace

absl::Status CheckSameAssumptions(const ComparedSide& base, const ComparedSide& head) {
  if (!base.saved && !head.saved) return absl::OkStatus();
  const std::string &base_path = base.report.model.path, &head_path = head.report.model.path;
  if (VersionOf(base) != VersionOf(head)) {
    const std::string& old = base.saved ? base_path : head_path;
    return Other(
        absl::StrFormat("'%s' is of onnx-mem %s, '%s' of %s", base_path, VersionOf(base), head_path, VersionOf(head)),
        {"why: another version may count differently", absl::StrFormat("way out: save '%s' again", old)});
  }
  const bool train = Trains(base) && Trains(head);
  std::vector<std::string> differences;
  for (const ReportedOption& option : ReportedOptions()) {
    if (option.training_alone && !train) continue;
    const std::string ours = ValueOf(base, option), theirs = ValueOf(head, option);
    if (ours == theirs || ours.empty() || theirs.empty()) continue;
    differences.push_back(absl::StrFormat("%s %s and %s", option.name, ours, theirs));
  }
  if (differences.empty()) return absl::OkStatus();
  return Other(absl::StrFormat("'%s' and '%s' assume different things: %s", base_path, head_path,
                               absl::StrJoin(differences, ", ")),
               WaysOut(base, head));
}

absl::Status TakeOver(const ComparedSide& base, Options& options) {
  for (const ReportedOption& option : ReportedOptions()) {
    const std::string value = ValueOf(base, option);
    const OptionRow* row = OptionNamed("--" + std::string(option.name));
    if (value.empty() || value == option.absent || row == nullptr) continue;
    if (row->setter.clear != nullptr) row->setter.clear(options);
    for (const std::string& text : TextsOf(option, value)) {
      if (option.name == "segment" && text.find(kSegmentKeeps) != std::string::npos) {
        return Other(absl::StrFormat("--like base: the selective checkpoints of '%s' cannot be taken over",
                                     base.report.model.path),
                     {"way out: the model with --plan FILE -o head.json, and compare the two reports"});
      }
      const absl::Status applied = row->Apply(text, options);
      if (!applied.ok()) {
        return Other(absl::StrFormat("--like base: %s of '%s' cannot be taken over: %s", option.name,
                                     base.report.model.path, DiagnosticOf(applied).message),
                     {"way out: the same options by hand"});
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
