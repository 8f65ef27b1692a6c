// onnx-mem MODEL: what a training step and an inference need, at one batch or several.
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis.h"
#include "analyzer/graph/status_macros.h"
#include "cli/commands.h"
#include "cli/plan_file.h"
#include "cli/report/present.h"
#include "cli/report/report.h"

namespace onnx_mem {
namespace {

ReportRequest RequestOf(const Options& options) {
  ReportRequest request;
  request.by = options.by;
  request.top = options.top;
  request.verbose = options.verbose;
  if (options.gpu_memory_bytes) {
    request.limits.push_back({Limit::Kind::kGpu, options.gpu, *options.gpu_memory_bytes});
  }
  if (options.budget_bytes) request.limits.push_back({Limit::Kind::kBudget, "", *options.budget_bytes});
  return request;
}

// With --strict, what would be told as a warning ends the run.
absl::Status CheckStrict(const std::vector<Diagnostic>& warnings) {
  if (warnings.empty()) return absl::OkStatus();
  std::vector<std::string> codes;
  for (const Diagnostic& warning : warnings) codes.push_back(warning.code);
  const Diagnostic& first = warnings.front();
  std::vector<std::string> details = first.details;
  details.push_back(absl::StrFormat("why: --strict takes warnings for errors: %s", absl::StrJoin(codes, ", ")));
  return ErrorStatus(absl::StatusCode::kFailedPrecondition, first.code, first.message, std::move(details));
}

std::vector<Diagnostic> WarningsOf(const Analysis& analysis) {
  std::vector<Diagnostic> warnings;
  for (const Diagnostic& diagnostic : analysis.diagnostics) {
    if (diagnostic.severity == Severity::kWarning) warnings.push_back(diagnostic);
  }
  return warnings;
}

}  // namespace

absl::StatusOr<Answer> RunAnalyze(const Options& options) {
  Workload workload = options.workload;
  if (!options.plan_file.empty()) {
    ASSIGN_OR_RETURN(workload.run.segments, ReadPlanFile(options.plan_file));
  }
  ASSIGN_OR_RETURN(const ModelFile file, ModelFile::Open(options.operands.front()));
  std::vector<std::optional<int64_t>> batches(options.batches.begin(), options.batches.end());
  if (batches.empty()) batches.push_back(std::nullopt);

  std::vector<RunSummary> runs;
  std::optional<Analysis> first;
  for (const std::optional<int64_t>& batch : batches) {
    workload.bindings.batch = batch;
    ASSIGN_OR_RETURN(Analysis analysis, Analyze(file, workload));
    RunSummary run = Summarize(analysis);
    if (!options.plan_file.empty()) run.recompute_flops = analysis.recompute_flops;
    runs.push_back(std::move(run));
    if (!first) first = std::move(analysis);
  }

  Answer answer;
  answer.warnings = WarningsOf(*first);
  if (options.strict) RETURN_IF_ERROR(CheckStrict(answer.warnings));
  ReportRequest request = RequestOf(options);
  if (!options.exports.empty()) {
    request.every_table = true;
    request.top = 0;
    RETURN_IF_ERROR(WriteExports(BuildReport(request, runs, *first), options));
    request = RequestOf(options);
  }
  const Report report = BuildReport(request, std::move(runs), *first);
  answer.text = Present(report, options);
  answer.exit_code = WithinLimits(report) ? ExitCode::kYes : ExitCode::kNo;
  return answer;
}

}  // namespace onnx_mem
