// What makes the figures of an exported file uncertain: the findings of `check`. Each has a code, a way to export
// better, and the bytes by which it changes the peak, measured by a second run where there is one to compare with.
//
//   warning bn-folded (20, 88.2 MiB)
//     20 BatchNorms were folded into convolutions by the exporter and are counted as if present
//     effect: 88.2 MiB of the training peak are theirs
//     try: torch.onnx.export(model.train(), ...)
#ifndef ONNX_MEM_ANALYZER_CHECK_FINDINGS_H_
#define ONNX_MEM_ANALYZER_CHECK_FINDINGS_H_

#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

// `analysis` is what `study` says of its file under `workload`. Its diagnostics, with bytes where their effect can be
// reported, and what else is found: errors before warnings before notes, each by falling bytes.
std::vector<Diagnostic> CheckExport(Study& study, const Workload& workload, const Analysis& analysis);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_CHECK_FINDINGS_H_
