// What changed from A to B, signed. A side is a model at a batch, or a report that was
// saved.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/study/study.h"
#include "cli/answers/answers.h"
#include "cli/answers/cards.h"
#include "cli/answers/like_base.h"
#include "cli/answers/runtime_of_file.h"
#include "cli/answers/strict.h"
#include "cli/answers/unmatched.h"
#include "cli/files/saved_report.h"
#include "cli/options/option_values.h"
#include "cli/present.h"
#include "report/compare/comparison.h"

namespace onnx_mem {
namespace {

// What one side is made from.
struct SideRequest {
  size_t operand = 0;
  std::string path;
  std::optional<int64_t> batch;
};

// One batch holds for all models; as many batches as models are one each; one model at several batches is compared
// with itself, the first batch being the base.
absl::StatusOr<std::vector<SideRequest>> RequestsOf(const Options& options) {
  const std::vector<std::string>& paths = options.operands;
  const std::vector<int64_t>& batches = options.batches;
  std::vector<SideRequest> requests;
  if (paths.size() == 1) {
    for (int64_t batch : batches) requests.push_back({0, paths.front(), batch});
    if (requests.size() >= 2) return requests;
    return UsageError("nothing to compare with: give a second model, or a second batch",
                      {absl::StrFormat("way out: onnx-mem compare %s OTHER.onnx", paths.front()),
                       absl::StrFormat("try: onnx-mem compare %s --batch 32,64", paths.front())});
  }
  if (batches.size() > 1 && batches.size() != paths.size()) {
    return UsageError(
        absl::StrFormat("%d batches for %d models: give one for all, or one for each", batches.size(), paths.size()));
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    SideRequest& request = requests.emplace_back(SideRequest{i, paths[i], std::nullopt});
    if (!batches.empty()) request.batch = batches.size() == 1 ? batches.front() : batches[i];
  }
  return requests;
}

// `status` with the file that it is about, which matters where there are several.
absl::Status About(const std::string& path, const absl::Status& status) {
  const Diagnostic diagnostic = DiagnosticOf(status);
  if (diagnostic.code == Code::kInternal || absl::StrContains(diagnostic.message, path)) return status;
  return ErrorStatus(status.code(), diagnostic.code, absl::StrFormat("%s: %s", path, diagnostic.message),
                     diagnostic.details);
}

absl::StatusOr<Analysis> AnalyzeSide(Study& study, const SideRequest& request, Workload workload,
                                     absl::StatusOr<Analysis> (Study::*ask)(const Workload&)) {
  workload.bindings.batch = request.batch;
  absl::StatusOr<Analysis> analysis = (study.*ask)(workload);
  if (!analysis.ok()) return About(request.path, analysis.status());
  return analysis;
}

// One model, whose parameters are added to `models`.
absl::StatusOr<ComparedSide> SideOf(Study& study, const SideRequest& request, Workload workload, const Options& options,
                                    std::vector<std::vector<Parameter>>& models) {
  workload.bindings.batch = request.batch;
  const auto ask = HasLimit(options) ? &Study::AskWithRange : &Study::Ask;
  ASSIGN_OR_RETURN(Analysis analysis, AnalyzeSide(study, request, workload, ask));
  models.push_back(analysis.parameters);
  ComparedSide side = ComparedOf(analysis);
  if (!DrawsSteps(options)) return side;
  RETURN_IF_ERROR(study.AddAddresses(workload, analysis));
  side.analysis = std::make_shared<const Analysis>(std::move(analysis));
  return side;
}

// The models among the operands; null for a report that was saved.
absl::StatusOr<Files> FilesOf(const Options& options, const OpenModels& open) {
  Files files;
  for (size_t i = 0; i < options.operands.size(); ++i) {
    if (i >= open.size() && absl::EndsWith(options.operands[i], ".json")) {
      files.push_back(nullptr);
      continue;
    }
    ASSIGN_OR_RETURN(std::shared_ptr<const ModelFile> file, ModelOf(options, open, i));
    files.push_back(std::move(file));
  }
  return files;
}

bool Asks(const Workload& workload) { return workload.run.dtype || workload.run.autocast; }

absl::Status CheckCompare(const Options& options) {
  if (options.like_base && (options.operands.empty() || !absl::EndsWith(options.operands.front(), ".json"))) {
    return UsageError("--like base: the base is a model, and the options hold for every model already",
                      {"way out: a saved report as the base, or no --like"});
  }
  if (options.by == By::kNone || options.by == By::kLayer) return absl::OkStatus();
  return UsageError("--by: compare lists layers only", {"try: ... --by layer"});
}

// The type of the first head that is an export in half precision, where the base is not.
DType HalfTypeOfHeads(const ComparedReports& comparison) {
  if (comparison.base.half) return DType::kUnknown;
  for (const ComparedSide& head : comparison.heads) {
    if (head.half) return head.half->dtype;
  }
  return DType::kUnknown;
}

// Warnings of all sides; with the name of the side where not all have it.
std::vector<Diagnostic> WarningsOf(const std::vector<ComparedSide>& sides) {
  std::vector<Diagnostic> warnings;
  for (const ComparedSide& side : sides) {
    for (const Diagnostic& note : side.report.notes) {
      if (note.severity != Severity::kWarning) continue;
      const auto has = [&](const ComparedSide& other) {
        return std::any_of(other.report.notes.begin(), other.report.notes.end(),
                           [&](const Diagnostic& theirs) { return theirs.message == note.message; });
      };
      Diagnostic warning = note;
      if (!std::all_of(sides.begin(), sides.end(), has)) {
        warning.message = absl::StrFormat("%s: %s", side.report.model.path, note.message);
      }
      const auto same = [&](const Diagnostic& other) { return other.message == warning.message; };
      if (std::none_of(warnings.begin(), warnings.end(), same)) warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

// What each side is held against: figures of reports that were saved are the same on every card.
absl::StatusOr<std::vector<Limit>> LimitsOfSides(const ComparedReports& comparison,
                                                 const std::vector<SideRequest>& requests,
                                                 const std::vector<std::shared_ptr<Study>>& studies,
                                                 const Workload& workload, const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  std::vector<RunSummary> runs = {comparison.base.report.runs.front()};
  for (const ComparedSide& head : comparison.heads) runs.push_back(head.report.runs.front());
  const auto runs_on = [&](const Card& card) -> absl::StatusOr<std::vector<RunSummary>> {
    std::vector<RunSummary> there = runs;
    for (size_t i = 0; i < studies.size(); ++i) {
      if (studies[i] == nullptr) continue;
      ASSIGN_OR_RETURN(const Analysis analysis,
                       AnalyzeSide(*studies[i], requests[i], OnCard(workload, card), &Study::AskWithRange));
      there[i] = Summarize(analysis);
    }
    return there;
  };
  ASSIGN_OR_RETURN(std::vector<Limit> limits, LimitsOnCards(cards, runs, options.units, runs_on));
  if (HasBudget(options)) limits.push_back(BudgetLimit(options, 0, ""));
  return limits;
}

// A warning for each head that needs more than --budget.
std::vector<Diagnostic> OverBudget(const ComparedReports& comparison, const Options& options) {
  std::vector<Diagnostic> warnings;
  for (const ComparedSide& head : comparison.heads) {
    const int64_t device_bytes = MainPart(head.report.runs.front()).device_bytes;
    if (device_bytes <= *options.budget_bytes) continue;
    Diagnostic warning{.code = Code::kOverBudget, .severity = Severity::kWarning};
    warning.bytes = device_bytes - *options.budget_bytes;
    warning.message = absl::StrFormat("'%s' needs %s on the GPU, more than the budget of %s", head.report.model.path,
                                      FormatBytesIn(device_bytes, options.units),
                                      FormatBytesIn(*options.budget_bytes, options.units));
    warnings.push_back(std::move(warning));
  }
  return warnings;
}

// The sides in the order of the operands, and what each was made from.
struct Sides {
  std::vector<ComparedSide> sides;
  std::vector<std::shared_ptr<Study>> studies;  // null for a saved report
  std::vector<std::vector<Parameter>> models;
  Workload workload;  // under which models are analyzed
};

absl::StatusOr<Sides> SidesOf(std::vector<SideRequest>& requests, const Files& opened, const Options& options) {
  ASSIGN_OR_RETURN(const std::vector<Card> cards, CardsOf(options));
  Sides all{{}, {}, {}, OnFirstCard(options.workload, cards)};
  std::optional<int64_t> saved_batch;  // a model without a batch of its own takes that of a report before it
  for (SideRequest& request : requests) {
    const std::shared_ptr<const ModelFile>& file = opened[request.operand];
    if (file == nullptr) {
      ASSIGN_OR_RETURN(ComparedSide side, ReadSavedReport(request.path, request.batch));
      saved_batch = side.report.runs.front().batch;
      if (all.sides.empty() && options.like_base) {
        Options like = options;
        RETURN_IF_ERROR(TakeOver(side, like));
        all.workload = OnFirstCard(like.workload, cards);
      }
      all.studies.push_back(nullptr);
      all.sides.push_back(std::move(side));
      continue;
    }
    if (!request.batch) request.batch = saved_batch;
    all.studies.push_back(std::make_shared<Study>(file));
    ASSIGN_OR_RETURN(ComparedSide side, SideOf(*all.studies.back(), request, all.workload, options, all.models));
    all.sides.push_back(std::move(side));
  }
  for (size_t i = 1; i < all.sides.size(); ++i) RETURN_IF_ERROR(CheckSameAssumptions(all.sides.front(), all.sides[i]));
  if (!all.models.empty()) RETURN_IF_ERROR(CheckFreeze(options.workload.run, all.models));
  return all;
}

// Beside a head in half precision: the base under autocast of its type.
absl::Status AddAutocast(Study* base, const SideRequest& request, Workload workload, ComparedReports& comparison) {
  comparison.amp_dtype = HalfTypeOfHeads(comparison);
  if (comparison.amp_dtype == DType::kUnknown || base == nullptr || Asks(workload)) return absl::OkStatus();
  workload.run.autocast = comparison.amp_dtype;
  ASSIGN_OR_RETURN(const Analysis amp, AnalyzeSide(*base, request, std::move(workload), &Study::Ask));
  comparison.base_amp = Summarize(amp);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandAnswer> AnswerCompare(const Options& given, const OpenModels& open) {
  if (AsksForMeasured(given)) return AnswerMeasured(given, open);
  RETURN_IF_ERROR(CheckCompare(given));
  ASSIGN_OR_RETURN(std::vector<SideRequest> requests, RequestsOf(given));
  ASSIGN_OR_RETURN(const Files opened, FilesOf(given, open));
  const Options options = given.like_base ? given : WithRuntimeOf(given, opened);
  ASSIGN_OR_RETURN(Sides all, SidesOf(requests, opened, options));
  CommandAnswer answer;
  answer.warnings = WarningsOf(all.sides);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  if (const auto note = RuntimeNote(given, options, opened, options.operands)) answer.warnings.push_back(*note);
  ComparedSide base = std::move(all.sides.front());
  all.sides.erase(all.sides.begin());
  auto comparison = std::make_shared<ComparedReports>(Compare(std::move(base), std::move(all.sides)));
  RETURN_IF_ERROR(AddAutocast(all.studies.front().get(), requests.front(), options.workload, *comparison));
  ASSIGN_OR_RETURN(comparison->limits, LimitsOfSides(*comparison, requests, all.studies, all.workload, options));
  if (options.max_increase_percent) comparison->gate = CheckGate(*comparison, *options.max_increase_percent);
  Report& report = answer.report;
  report.command = options.command;
  report.part = ComparePart(comparison);
  report.shown_table = options.by == By::kLayer ? "layers" : "";
  report.top = options.top.value_or(kDefaultTop);
  report.top_given = options.top.has_value();
  RETURN_IF_ERROR(WriteExports(report, options));
  if (options.budget_bytes) {
    for (Diagnostic& warning : OverBudget(*comparison, options)) answer.warnings.push_back(std::move(warning));
  }
  answer.yes = !comparison->gate || comparison->gate->exceeded.empty();
  for (size_t i = 0; i < comparison->limits.size(); ++i) {
    answer.yes = answer.yes && IsYes(VerdictOfHeads(*comparison, i), options.strict);
  }
  return answer;
}

}  // namespace onnx_mem
