// What a training step or an inference takes: the rows of include/onnx_mem/figures.inc as plain structs, and as tables
// to loop over. JSON, CSV, comparisons, pages and saved reports are such loops.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_FIGURE_ROWS_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_FIGURE_ROWS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace onnx_mem {

// One onnxruntime session. Bytes.
struct SessionFigures {
  int64_t weight_bytes = 0;   // as it keeps them, packed or in the file's layout
  int64_t arena_bytes = 0;    // regions that its arena took: what its log of extensions adds up to
  int64_t touched_bytes = 0;  // of them, pages that were ever written: what is resident on the CPU
  int64_t pattern_bytes = 0;  // of runs 2 and later: the one block with all activations at planned offsets; 0: none
};

// Of one training step (its steady state) or one inference. Bytes. Ranges of the peak are peak_bounds.h's; 0 where
// nobody reads them.
struct PeakFigures {
#define ONNX_MEM_PEAK(member, ...) int64_t member = 0;
#define ONNX_MEM_RANGE(stem, ...) int64_t stem##_low_bytes = 0, stem##_high_bytes = 0;
#include "include/onnx_mem/figures.inc"
  int64_t workspace_blocks = 0;                // of equal size that workspace_bytes are
  int64_t ideal_peak_bytes = 0;                // inference only: a runtime that plans ahead, no Python frames
  std::optional<SessionFigures> session = {};  // of one, where sessions run
  std::optional<int64_t> ideal_arena_bytes;    // inference only: its activations in one arena with planned offsets
  bool at_least = false;                       // something could not be known: the figures are lower bounds
};

// Of the forward and the backward of one run (of several micro-steps: of one). Bytes and FLOPs.
struct PassFigures {
#define ONNX_MEM_PASS(member, ...) int64_t member = 0;
#include "include/onnx_mem/figures.inc"
};

enum class FigureOf { kBoth, kTraining, kInference };

// What PEAK, SHARE and RANGE rows say.
struct PeakRow {
  enum class Kind { kPlanPeak, kPeak, kShare, kRange, kOpenRange };
  Kind kind;
  FigureOf of;
  std::string_view key;         // in JSON: "peak_bytes", "device_interval_bytes"
  int64_t PeakFigures::*value;  // of a range its low end
  std::string_view column, title;
  // Of ranges, whose column and title are those of the columns of both ends:
  std::string_view low_key = "", high_key = "";
  int64_t PeakFigures::*high = nullptr;

  bool is_range() const { return high != nullptr; }
  bool is_of_plans() const { return kind == Kind::kPlanPeak; }
  bool is_peak() const { return kind == Kind::kPlanPeak || kind == Kind::kPeak; }  // differences of it are shown
  bool is_of(FigureOf part) const { return of == FigureOf::kBoth || of == part; }
  bool is_known(const PeakFigures& figures) const { return kind != Kind::kOpenRange || figures.*high > 0; }
};

inline constexpr auto kPeakRows = std::to_array<PeakRow>({
#define ONNX_MEM_PEAK_ROW(kind, member, of, column, title) \
  PeakRow{PeakRow::Kind::kind, FigureOf::k##of, #member, &PeakFigures::member, column, title}
#define ONNX_MEM_RANGE_ROW(kind, stem, of, low, high)                                                         \
  PeakRow {                                                                                                   \
    PeakRow::Kind::kind, FigureOf::k##of, #stem "_interval_bytes", &PeakFigures::stem##_low_bytes, low, high, \
        #stem "_low_bytes", #stem "_high_bytes", &PeakFigures::stem##_high_bytes                              \
  }
#define ONNX_MEM_PLAN_PEAK(member, of, column, title, words) ONNX_MEM_PEAK_ROW(kPlanPeak, member, of, column, title),
#define ONNX_MEM_PEAK(member, of, column, title, words) ONNX_MEM_PEAK_ROW(kPeak, member, of, column, title),
#define ONNX_MEM_SHARE(member, of, column, title, words) ONNX_MEM_PEAK_ROW(kShare, member, of, column, title),
#define ONNX_MEM_RANGE(stem, of, low, high, words) ONNX_MEM_RANGE_ROW(kRange, stem, of, low, high),
#define ONNX_MEM_OPEN_RANGE(stem, of, low, high, words) ONNX_MEM_RANGE_ROW(kOpenRange, stem, of, low, high),
#include "include/onnx_mem/figures.inc"
#undef ONNX_MEM_PEAK_ROW
#undef ONNX_MEM_RANGE_ROW
});

// What PASS rows say.
struct PassRow {
  std::string_view object, key;  // in JSON: run["training"]["saved_activation_bytes"]
  int64_t PassFigures::*value;
  std::string_view column;
  bool with_plan;  // reported with a checkpoint plan alone
};

inline constexpr auto kPassRows = std::to_array<PassRow>({
#define ONNX_MEM_PASS(member, object, key, column, words) {object, key, &PassFigures::member, column, false},
#define ONNX_MEM_PLAN_PASS(member, object, key, column, words) {object, key, &PassFigures::member, column, true},
#include "include/onnx_mem/figures.inc"
});

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_FIGURE_ROWS_H_
