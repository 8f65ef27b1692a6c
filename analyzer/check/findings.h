// What of an export stands in the way of a true answer: a lint of the file for this purpose. Each finding has a code,
// the bytes that it moves, measured by a second run of the accountant where there is one to compare with, and the fix.
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
// told, and what else is found: errors before warnings before notes, each by falling bytes.
std::vector<Diagnostic> CheckExport(Study& study, const Workload& workload, const Analysis& analysis);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_CHECK_FINDINGS_H_
