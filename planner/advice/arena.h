// onnxruntime's two ways to extend its arena, weighed against each other on a card.
#ifndef ONNX_MEM_PLANNER_ADVICE_ARENA_H_
#define ONNX_MEM_PLANNER_ADVICE_ARENA_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/study/study.h"
#include "planner/advice/fit.h"

namespace onnx_mem {

// Which value of arena_extend_strategy takes the larger batch to a card with `usable_bytes`, or needs less at the batch
// of `workload` where both take as many, with the line of Python that sets it. nullopt: no session on a card is
// requested about. Errors: those of Study::Figures.
absl::StatusOr<std::optional<Diagnostic>> BetterArena(Study& study, const Workload& workload, int64_t usable_bytes,
                                                      ByteUnit units);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_ADVICE_ARENA_H_
