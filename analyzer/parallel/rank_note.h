// What a report says of a step that is spread over several cards.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_RANK_NOTE_H_
#define ONNX_MEM_ANALYZER_PARALLEL_RANK_NOTE_H_

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// Whose figures they are, which modules are FSDP's units, and what is not in them. `layout` is spread.
absl::StatusOr<Diagnostic> RankNote(const Enacted& enacted, const RankLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_RANK_NOTE_H_
