#include "report/page/page_runs.h"

#include <map>
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

// The ranks of a step: what each is called, its run, and its run without a plan.
struct DrawnRank {
  std::string_view name;
  int64_t run = 0, base = 0;
};

// In the order of AddPlanRuns.
class RankRuns {
 public:
  explicit RankRuns(const PlanPart& part) {
    for (const PlanPart::Drawn& drawn : part.drawn) next_ += drawn.analysis != nullptr ? 1 : 0;
  }

  // `run`: of the rank that needs most.
  std::vector<DrawnRank> Of(const Analysis& analysis, int64_t run) {
    std::vector<DrawnRank> drawn;
    for (const RankAnalysis& rank : analysis.ranks) {
      const int64_t own = rank.analysis == nullptr ? run : next_++;
      drawn.push_back({rank.name, own, without_.try_emplace(rank.rank, own).first->second});
    }
    return drawn;
  }

 private:
  int64_t next_ = 1;
  std::map<int64_t, int64_t> without_;  // by rank: its run without a plan, which is drawn first
};

void WriteRanks(JsonWriter& json, const std::vector<DrawnRank>& ranks) {
  json.Key("ranks").BeginArray();
  for (const DrawnRank& rank : ranks) {
    json.BeginObject();
    json.Add({{"name", rank.name}, {"run", rank.run}, {"base", rank.base}});
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

void WritePagePlans(JsonWriter& json, const PlanPart& part) {
  json.Key("plans").BeginArray();
  RankRuns ranks(part);
  const std::vector<DrawnRank> without = ranks.Of(*part.baseline, 0);
  int64_t runs = 0;  // so far, behind the one without any plan
  for (size_t i = 0; i < part.drawn.size(); ++i) {
    const Analysis* const drawn = part.drawn[i].analysis.get();
    const ModulePlan& plan = part.answer.plans[i];
    json.BeginObject(Layout::kOneLine);
    json.Add({{"id", plan.id},
              {"method", plan.method},
              {"label", CleanText(plan.label)},
              {"run", drawn != nullptr ? ++runs : 0},
              {"peak_bytes", plan.measured.peak_bytes},
              {"device_bytes", plan.measured.device_bytes},
              {"slowdown", plan.measured.slowdown},
              {"dominated", plan.dominated},
              {"chosen", part.answer.chosen == i},
              {"settings", TextOf(plan.settings)}});
    WriteSegments(json, plan);
    WriteRanks(json, drawn != nullptr ? ranks.Of(*drawn, runs) : without);
    json.Key("code").String(part.drawn[i].code);
    json.EndObject();
  }
  json.EndArray();
  json.Add({{"budget_bytes", part.request.budget_bytes},
            {"budget_on", part.request.budget_line == BudgetLine::kDevice ? "device" : "live"},
            {"cost_in", part.request.cost_line == CostLine::kFlops ? "flops" : "time"}});
}

}  // namespace onnx_mem
