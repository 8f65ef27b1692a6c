// What a report says of a step that is spread over several cards.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_RANK_NOTE_H_
#define ONNX_MEM_ANALYZER_PARALLEL_RANK_NOTE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/parallel/data_parallel.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// The options that mean it: "fsdp 8", "hsdp 2x4:layers\.\d+", "fsdp 8 --tp 2".
std::string TextOf(const RankLayout& layout);

// The option that says the number of ranks along `axis`, and its value: {"--fsdp", "8:layers\\.\\d+"}.
std::pair<std::string, std::string> RanksFlag(RankAxis axis, const RankLayout& layout);

// "rank 0 of 8, which needs most". `layout` is spread, `step` that of its rank.
std::string RankText(const LocalStep& step, const RankLayout& layout);

// For a switch between ranks: "rank 7 of 8", "rank 1: stages 1, 3 of 4".
std::string RankName(int64_t rank, const RankLayout& layout);

// Whose figures they are, what the other ranks of a pipeline need, which modules are FSDP's units, and what is not in
// the figures.
absl::StatusOr<Diagnostic> RankNote(const Enacted& enacted, const LocalStep& step, const RankLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_RANK_NOTE_H_
