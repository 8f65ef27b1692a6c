// What a run takes for granted, as reports list it, by the names of the options that say otherwise.
#ifndef ONNX_MEM_ANALYZER_STUDY_ASSUMPTION_LIST_H_
#define ONNX_MEM_ANALYZER_STUDY_ASSUMPTION_LIST_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// An option that a report lists among its assumptions where it says something: REPORTED of a row of
// include/onnx_mem/question.inc.
struct ReportedOption {
  std::string_view name;       // "base-bits"
  int place = 0;               // in a report
  bool training_alone = true;  // an inference does not know it
  std::string_view absent;     // what it means that a report does not list it; "": every report does
  std::string_view separator;  // between several values
  std::string (*text)(const Workload& workload, const Enacted* enacted) = nullptr;  // "": not listed
};
std::span<const ReportedOption> ReportedOptions();  // by their places

// Behind the number of an optimizer that is one.
inline constexpr std::string_view kBytesPerParameter = " bytes per parameter";
// Before what a segment keeps, for which there is no option.
inline constexpr std::string_view kSegmentKeeps = " keeping ";

// Of a training step: everything that the file does not say and this run took for granted.
void FillAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis);

// Of an inference without a training step beside it.
void FillInferenceAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis);

// What a record says is neither assumed nor changed by the options that tell of what an export has lost.
void NoteIdleOptions(const Run& run, std::vector<Diagnostic>& diagnostics);

void WarnIfNothingIsTrained(const Run& run, const Enacted& enacted, std::vector<Diagnostic>& diagnostics);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_ASSUMPTION_LIST_H_
