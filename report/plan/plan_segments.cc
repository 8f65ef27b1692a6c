// What the chosen plan checkpoints: a row for each segment, repeated blocks in one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "planner/code/kept_lines.h"
#include "planner/code/name_patterns.h"
#include "planner/search/curve.h"
#include "report/parts/figures.h"
#include "report/parts/layout.h"
#include "report/plan/plan_report.h"
#include "report/plan/plan_words.h"
#include "report/text/text_parts.h"

namespace onnx_mem {
namespace {

constexpr size_t kSegmentsGap = 2;
constexpr size_t kMostSegments = 16;

std::string RangeName(const PlannedSegment& segment) {
  if (segment.segment.modules.empty()) {
    return absl::StrFormat("%s .. %s", segment.nodes.front(), segment.nodes.back());
  }
  const std::vector<std::string>& modules = segment.segment.modules;
  if (modules.size() == 1) return modules.front();
  // Of neighbours in one parent the last one's own name says enough: "layer1.0 to 2".
  const std::string& last = modules.back();
  const size_t dot = last.rfind('.');
  const bool together = dot == modules.front().rfind('.') && dot != std::string::npos &&
                        last.compare(0, dot, modules.front(), 0, dot) == 0;
  return absl::StrFormat("%s to %s, as one", modules.front(), together ? last.substr(dot + 1) : last);
}

std::string CallsText(size_t calls) { return absl::StrFormat("%d call%s", calls, calls == 1 ? "" : "s"); }

std::string KindOf(const PlannedSegment& segment) {
  if (segment.segment.offload == Offload::kGate) return ", from where on they leave";
  if (segment.segment.moves_all()) return ", to the host";
  const size_t moved = segment.segment.host_calls.size();
  const size_t kept = segment.segment.keep_calls.size();
  std::string kind = kept > 0 ? absl::StrCat(", keeping ", CallsText(kept)) : "";
  if (moved > 0) absl::StrAppend(&kind, ", ", CallsText(moved), " on the host");
  if (segment.segment.host_inputs) kind += moved > 0 ? " with what it is given" : ", what it is given on the host";
  if (!kind.empty()) return kind;
  return segment.segment.keep.empty() ? "" : ", keeping products";
}

std::string SegmentName(const PlannedSegment& segment) { return RangeName(segment) + KindOf(segment); }

// Repeated blocks are one row.
struct SegmentsRow {
  std::string name;
  size_t count = 1;
  size_t ops = 0;
  int64_t saves_bytes = 0;
  int64_t cost = 0;
};

std::vector<SegmentsRow> SegmentRows(const ModulePlan& plan) {
  std::vector<std::string> names, kinds;
  for (const PlannedSegment& segment : plan.segments) {
    names.push_back(segment.segment.modules.empty() ? "" : RangeName(segment));
    kinds.push_back(KindOf(segment));
  }
  std::vector<SegmentsRow> rows;
  for (const NameGroup& group : GroupNames(names, kinds)) {
    const size_t first = group.members.front();
    SegmentsRow row{.name = group.numbers.empty() ? SegmentName(plan.segments[first]) : TextOf(group) + kinds[first],
                    .count = group.members.size()};
    for (size_t member : group.members) {
      row.ops += plan.segments[member].nodes.size();
      row.saves_bytes += plan.segments[member].saves_bytes;
      row.cost += plan.segments[member].cost;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// A part of what the plan costs, as a share of the step.
double ShareOfStep(const PlanPart& part, const ModulePlan& plan, int64_t cost) {
  const int64_t whole = CostOn(part.request.cost_line, plan.measured);
  return whole > 0 ? plan.measured.slowdown * static_cast<double>(cost) / static_cast<double>(whole) : 0;
}

// "Checkpoint 6 segments (33 % of the forward's FLOPs run twice), 2 modules to the host (1.20 GiB there)".
std::string SegmentsTitle(const PlanAnswer& answer, const ModulePlan& plan, const Screen& screen) {
  const auto share = [](int64_t some, int64_t whole) {
    return whole > 0 ? 100 * static_cast<double>(some) / static_cast<double>(whole) : 0.0;
  };
  size_t again = 0, moved = 0;
  bool tensors = false;
  for (const PlannedSegment& segment : plan.segments) {
    again += !segment.segment.moves_all();
    moved += segment.segment.moves_all() && segment.segment.offload != Offload::kGate;
    tensors |= segment.segment.moves_some();
  }
  std::vector<std::string> titles;
  if (again > 0) {
    titles.push_back(absl::StrFormat("Checkpoint %d segment%s (%.0f %% of the forward's FLOPs run twice)", again,
                                     again == 1 ? "" : "s",
                                     share(plan.measured.recompute_flops, answer.baseline_forward_flops)));
  }
  if (moved > 0 || tensors) {
    const std::string what = moved == 0 ? "tensors" : absl::StrFormat("%d module%s", moved, moved == 1 ? "" : "s");
    titles.push_back(absl::StrFormat("%s%s to the host (%s there)", what, moved > 0 && tensors ? " and tensors" : "",
                                     FormatBytesIn(plan.measured.host_bytes, screen.units)));
  }
  return absl::StrJoin(titles, ", ");
}

// What segments keep, by block; all else runs again where something reads it.
std::string KeptText(const ModulePlan& plan, const Screen& screen) {
  std::string text;
  const auto add = [&](std::string_view title, const PlannedSegment& segment, const std::vector<KeptCall>& calls) {
    const std::vector<KeptLine> kept = KeptLinesOf(segment.segment, calls);
    if (!kept.empty()) text += TitleLine(absl::StrCat(std::string(title), RangeName(segment)), screen);
    for (const KeptLine& line : kept) {
      const std::string words = absl::StrCat(line.blocks, line.blocks.empty() ? "" : ": ", line.calls);
      text += Wrapped(words, screen.width, 2 * kIndent, 3 * kIndent) + '\n';
    }
  };
  for (const PlannedSegment& segment : plan.segments) {
    add("Kept in ", segment, segment.segment.keep_calls);
    add("On the host, of ", segment, segment.segment.host_calls);
  }
  return text;
}

}  // namespace

std::string TitleLine(std::string_view text, const Screen& screen) {
  return std::string(kIndent, ' ') + Painted(text, Paint::kBold, screen) + '\n';
}

std::string SegmentsText(const Report& report, const Screen& screen) {
  const PlanPart& part = std::get<PlanPart>(report.part);
  const PlanAnswer& answer = part.answer;
  if (!answer.chosen) return "";
  const ModulePlan& plan = answer.plans[*answer.chosen];
  if (plan.segments.empty()) return "";
  std::string text;
  const std::vector<std::string> lines =
      absl::StrSplit(Wrapped(SegmentsTitle(answer, plan, screen), screen.width - kIndent, 0, 0), '\n');
  for (const std::string& line : lines) text += TitleLine(line, screen);
  TextTable table;
  table.columns = {
      {.right = true}, {.shrinks = true}, {.right = true, .optional = true}, {.right = true}, {.right = true}};
  table.rows = {{"#", "modules", "ops", "frees", "costs"}};
  const std::vector<SegmentsRow> rows = SegmentRows(plan);
  int64_t largest = 0;
  for (const SegmentsRow& row : rows) largest = std::max(largest, row.saves_bytes);
  const ByteUnit unit = ColumnUnit(largest, screen.units);
  const size_t most = report.top_given && report.top == 0 ? rows.size() : kMostSegments;
  for (size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const SegmentsRow& row = rows[i];
    table.rows.push_back({row.count == 1 ? "" : absl::StrFormat("%d x", row.count), row.name,
                          absl::StrFormat("%d", row.ops), SizeIn(row.saves_bytes, unit),
                          MoreOf(part, ShareOfStep(part, plan, row.cost))});
  }
  text += AlignedText(std::move(table), 2 * kIndent, kSegmentsGap, screen);
  if (rows.size() > most) {
    absl::StrAppendFormat(&text, "%s(%d more: -n 0)\n", std::string(2 * kIndent, ' '), rows.size() - most);
  }
  return text + KeptText(plan, screen);
}

Table SegmentsTable(const PlanPart& part) {
  Table table{"segments",
              "Checkpoint",
              {{"modules", "checkpoint"},
               {"ops", "ops", ColumnKind::kStep},
               {"saves_bytes", "frees", ColumnKind::kBytes},
               {"recompute_flops", "recompute", ColumnKind::kWork}},
              {},
              2};
  table.has_total = false;
  if (!part.answer.chosen) return table;
  for (const PlannedSegment& segment : part.answer.plans[*part.answer.chosen].segments) {
    table.rows.push_back({SegmentName(segment), static_cast<int64_t>(segment.nodes.size()), segment.saves_bytes,
                          segment.recompute_flops});
  }
  return table;
}

}  // namespace onnx_mem
