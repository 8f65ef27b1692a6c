// What a run takes for granted, as reports list it, by the names of the options that say otherwise.
#ifndef ONNX_MEM_ANALYZER_ANALYSIS_ASSUMPTION_LIST_H_
#define ONNX_MEM_ANALYZER_ANALYSIS_ASSUMPTION_LIST_H_

#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// Of a training step: everything that the file does not say and this run took for granted.
void FillAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis);

// Of an inference without a training step beside it.
void FillInferenceAssumptions(const Workload& workload, const Enacted& enacted, Analysis& analysis);

// What a record says is neither assumed nor changed by the options that tell of what an export has lost.
void NoteIdleOptions(const Run& run, std::vector<Diagnostic>& diagnostics);

void WarnIfNothingIsTrained(const Run& run, const Enacted& enacted, std::vector<Diagnostic>& diagnostics);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ANALYSIS_ASSUMPTION_LIST_H_
