#include "report/page/page_runs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/plan/plan_report.h"

namespace onnx_mem {
namespace {

using Layout = JsonWriter::Layout;

void AddRun(std::vector<PageRun>& runs, std::string name, const Analysis& analysis, const RunFigures* figures,
            const std::vector<Limit>& limits) {
  if (figures == nullptr || figures->program->steps.empty()) return;
  runs.push_back({std::move(name), &analysis, figures, limits.empty() ? 0 : LiveLimit(limits.front(), *figures)});
}

// Ranks beside the one that needs most, of a step with a plan or without.
void AddRanks(const std::string& plan, const Analysis& analysis, const std::vector<Limit>& limits,
              std::vector<PageRun>& runs) {
  for (const RankAnalysis& rank : analysis.ranks) {
    if (rank.analysis) AddRun(runs, plan + ", " + rank.name, *rank.analysis, rank.analysis->training(), limits);
  }
}

// Without a plan, with each plan, then the other ranks of those.
void AddPlanRuns(const PlanPart& part, std::vector<PageRun>& runs) {
  std::vector<Limit> limits;
  if (part.request.budget_bytes && part.request.budget_line == BudgetLine::kDevice) {
    limits.push_back({Limit::Kind::kBudget, "", *part.request.budget_bytes});
  }
  AddRun(runs, "no plan", *part.baseline, part.baseline->training(), limits);
  for (size_t i = 0; i < part.drawn.size(); ++i) {
    if (part.drawn[i].analysis == nullptr) continue;
    AddRun(runs, absl::StrFormat("plan %d", part.answer.plans[i].id), *part.drawn[i].analysis,
           part.drawn[i].analysis->training(), limits);
  }
  AddRanks("no plan", *part.baseline, limits, runs);
  for (size_t i = 0; i < part.drawn.size(); ++i) {
    if (part.drawn[i].analysis == nullptr) continue;
    AddRanks(absl::StrFormat("plan %d", part.answer.plans[i].id), *part.drawn[i].analysis, limits, runs);
  }
}

// Where `runs` has the run of `analysis`; 0 for null, which draws as the step without a plan does.
int64_t RunOf(const std::vector<PageRun>& runs, const Analysis* analysis) {
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const PageRun& run) { return run.analysis == analysis; });
  return found == runs.end() ? 0 : found - runs.begin();
}

// Of each rank of a step: its run, and that of the same rank in a step without a plan. `own`: the step itself, which is
// the rank that needs most.
void WriteRanks(JsonWriter& json, const std::vector<PageRun>& runs, const Analysis& own, const Analysis& without) {
  const auto run_of = [&](const Analysis& step, const RankAnalysis& rank) {
    return RunOf(runs, rank.analysis != nullptr ? rank.analysis.get() : &step);
  };
  json.Key("ranks").BeginArray();
  for (const RankAnalysis& rank : own.ranks) {
    const auto same = std::find_if(without.ranks.begin(), without.ranks.end(),
                                   [&](const RankAnalysis& other) { return other.rank == rank.rank; });
    const int64_t run = run_of(own, rank);
    json.BeginObject();
    json.Add({{"name", rank.name}, {"run", run}, {"base", same != without.ranks.end() ? run_of(without, *same) : run}});
    json.EndObject();
  }
  json.EndArray();
}

void WriteSegments(JsonWriter& json, const ModulePlan& plan) {
  json.Key("segments").BeginArray();
  for (const PlannedSegment& segment : plan.segments) {
    json.BeginObject();
    json.Key("modules").BeginArray();
    for (const std::string& module : segment.segment.modules) json.String(CleanText(module));
    json.EndArray();
    json.Add({{"nodes", segment.nodes.size()}});
#define ONNX_MEM_SEGMENT(member, ...) json.Add({{#member, segment.member}});
#include "include/onnx_mem/figures.inc"
    json.EndObject();
  }
  json.EndArray();
}

void AddComparedRuns(const ComparedReports& comparison, std::vector<PageRun>& runs) {
  const std::vector<std::string> names = SideNames(comparison);
  std::vector<const Analysis*> sides = {comparison.base.analysis.get()};
  for (const ComparedSide& head : comparison.heads) sides.push_back(head.analysis.get());
  for (std::string_view part : {kTrainingPart, kInferencePart}) {
    int64_t base = -1;
    for (size_t i = 0; i < sides.size(); ++i) {
      const size_t before = runs.size();
      if (sides[i] == nullptr) continue;
      AddRun(runs, absl::StrFormat("%s, %s", CleanText(names[i]), part), *sides[i], sides[i]->Find(part), {});
      if (runs.size() == before) continue;
      if (i == 0) base = static_cast<int64_t>(before);
      if (i > 0) runs.back().base = base;
    }
  }
}

}  // namespace

std::vector<PageRun> PageRunsOf(const Report& report) {
  std::vector<PageRun> runs;
  if (const auto* part = std::get_if<AnalyzePart>(&report.part); part != nullptr && part->analysis) {
    const std::vector<RankAnalysis>& ranks = part->analysis->ranks;
    for (const Part& run : part->analysis->parts) {
      const std::string name = ranks.empty() ? std::string(run.name) : ranks.front().name;
      AddRun(runs, name, *part->analysis, run.figures.get(), part->limits);
    }
    for (const RankAnalysis& rank : ranks) {
      if (rank.analysis) AddRun(runs, rank.name, *rank.analysis, rank.analysis->training(), part->limits);
    }
  }
  if (const auto* part = std::get_if<PlanPart>(&report.part); part != nullptr && part->baseline) {
    AddPlanRuns(*part, runs);
  }
  if (const auto* compared = std::get_if<ComparePart>(&report.part)) AddComparedRuns(**compared, runs);
  return runs;
}

void WritePagePlans(JsonWriter& json, const PlanPart& part, const std::vector<PageRun>& runs) {
  json.Key("plans").BeginArray();
  for (size_t i = 0; i < part.drawn.size(); ++i) {
    const Analysis* const drawn = part.drawn[i].analysis.get();
    const ModulePlan& plan = part.answer.plans[i];
    json.BeginObject(Layout::kOneLine);
    json.Add({{"id", plan.id},
              {"method", plan.method},
              {"label", CleanText(plan.label)},
              {"run", RunOf(runs, drawn)},
              {"peak_bytes", plan.measured.peak_bytes},
              {"device_bytes", plan.measured.device_bytes},
              {"slowdown", plan.measured.slowdown},
              {"dominated", plan.dominated},
              {"chosen", part.answer.chosen == i},
              {"settings", TextOf(plan.settings)}});
    WriteSegments(json, plan);
    WriteRanks(json, runs, drawn != nullptr ? *drawn : *part.baseline, *part.baseline);
    json.Key("code").String(part.drawn[i].code);
    json.EndObject();
  }
  json.EndArray();
  json.Add({{"budget_bytes", part.request.budget_bytes},
            {"budget_on", part.request.budget_line == BudgetLine::kDevice ? "device" : "live"},
            {"cost_in", part.request.cost_line == CostLine::kFlops ? "flops" : "time"}});
}

}  // namespace onnx_mem
