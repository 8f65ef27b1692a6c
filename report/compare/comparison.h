// Two reports -> their signed difference, figure by figure, layer by layer, operator by operator. Pure functions over
// plain values: a side comes from an analysis (ComparedOf) or from a saved report (files/saved_report.h) alike.
//
// Every difference is head minus base. Compare(A, A) is zero, Compare(A, B) = -Compare(B, A); the differences of the
// layers sum to that of the peak.
#ifndef ONNX_MEM_REPORT_COMPARE_COMPARISON_H_
#define ONNX_MEM_REPORT_COMPARE_COMPARISON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/compare/half_precision.h"
#include "report/analyze/report.h"

namespace onnx_mem {

// A row of --by layer, with what it runs.
struct LayerFigures {
  std::string name;       // module path, or the node outside of all modules
  bool is_module = true;  // else a node's name, which exporters number
  std::string kind;       // operators that it runs, in order; "" when not known
  int64_t bytes = 0;      // at the peak
};

// One operator that the forward pass dispatched.
struct OperatorCall {
  std::string op;
  std::string node;
  std::string module;
  int64_t bytes = 0;  // that it allocated
};

struct ComparedSide {
  Report report;             // of one run
  bool saved = false;        // a report that was read, not a model that was analyzed
  std::string version = {};  // of the program that wrote a saved report; "" where it does not say
  std::optional<std::vector<LayerFigures>> layers;     // nullopt: a saved report without them
  std::optional<std::vector<OperatorCall>> calls;      // nullopt: a saved report
  std::optional<HalfPrecision> half;                   // nullopt: full precision
  std::shared_ptr<const Analysis> analysis = nullptr;  // for formats that draw every step; null for a saved report

  const RunSummary& run() const { return report.runs.front(); }
};

enum class Presence { kBoth, kNew, kGone };

struct LayerChange {
  std::string name;       // head's, or base's of one that is gone
  std::string base_name;  // "" for a new one
  Presence presence = Presence::kBoth;
  int64_t base_bytes = 0;
  int64_t head_bytes = 0;
  int64_t delta_bytes() const { return head_bytes - base_bytes; }
};

// Operators that are on one side only.
struct OperatorChange {
  std::string op;
  Presence presence = Presence::kNew;
  int64_t count = 0;
  int64_t bytes = 0;  // that they allocate in the forward pass, not negative
};

// What changed from the base to one head.
struct Change {
  RunSummary delta;                                // differences; parts that both have
  std::optional<std::vector<LayerChange>> layers;  // largest difference first
  std::vector<OperatorChange> operators;           // largest first
  std::vector<OperatorGroup> casts_added;
};

// A figure that grew by more than it may.
struct Excess {
  size_t head = 0;
  std::string figure;  // "training peak"
  int64_t base_bytes = 0;
  int64_t head_bytes = 0;
};

struct Gate {
  double most_percent = 0;
  std::vector<Excess> exceeded;
};

struct ComparedReports {
  ComparedSide base;
  std::vector<ComparedSide> heads;
  std::vector<Change> changes;         // one per head
  std::optional<RunSummary> base_amp;  // the base under autocast, where a head is an export in half precision
  DType amp_dtype = DType::kUnknown;
  std::optional<Gate> gate;
  std::vector<Limit> limits = {};  // what every side is held against; `runs` of a card: those of the sides, base first
};

// A side, 0 for the base, on the card of `limit`.
const RunSummary& RunOfSide(const ComparedReports& comparison, const Limit& limit, size_t side);

// The worst verdict of all heads on one limit.
Verdict VerdictOfHeads(const ComparedReports& comparison, size_t limit);

ComparedSide ComparedOf(const Analysis& analysis);

ComparedReports Compare(ComparedSide base, std::vector<ComparedSide> heads);

// Which of the peaks and device figures of `comparison` grew by more than `most_percent`.
Gate CheckGate(const ComparedReports& comparison, double most_percent);

// One line of a comparison: a category or a total of one part.
struct ComparedFigure {
  std::string part;   // "training"
  std::string key;    // "saved_activations", "peak_bytes"
  std::string title;  // "saved activations", "alive at the peak"
  bool total = false;
  int64_t base = 0;
  int64_t head = 0;
  int64_t delta() const { return head - base; }
};

// Categories first, in the report's order and without those that neither has, then totals. Parts that both have.
std::vector<ComparedFigure> FiguresOf(const RunSummary& base, const RunSummary& head);

// Layers by the top of their paths, coarse enough to be read at a glance: the group that changed most is opened as long
// as it is all that there is, or more than half of what changed. A group is new or gone if all of it is.
std::vector<LayerChange> Coarse(const std::vector<LayerChange>& layers);

// What tells the sides apart, base first: file names, else paths, else "batch 32".
std::vector<std::string> SideNames(const ComparedReports& comparison);

// "base", "head", of several "head 2".
std::string SideTitle(const ComparedReports& comparison, size_t side);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_COMPARE_COMPARISON_H_
