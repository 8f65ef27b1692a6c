// Steps of one process whose sizes vary -> what the allocator has reserved at last, and the most that is allocated. A
// block that a short step left in the cache may be too small for a longer one, and what a long step left is cut for
// shorter ones: so more is reserved than the longest step takes alone. A cached block of which no more than 1 MiB would
// remain is handed out whole and counts whole as allocated (should_split of c10/cuda/CUDACachingAllocator.cpp), so that
// hangs on what ran before, too.
//
//   the longest alone            |xxxxxxxx|
//   a short one before           |xxxx|            freed, cached, too small
//                                |xxxx|xxxxxxxx|   then the longest takes new memory
#ifndef ONNX_MEM_ANALYZER_STUDY_VARIED_STEPS_H_
#define ONNX_MEM_ANALYZER_STUDY_VARIED_STEPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/parallel/data_parallel.h"

namespace onnx_mem {

// The least of max_memory_allocated() in a run that has the longest step once, wherever in the run. In the first step
// no state of the optimizer is there before its own step, and backward's thread has no workspace of cuBLAS before its
// first product (CUDABlas.cpp takes it in the first call of a handle). Runs begin with it so that memory runs out at
// once if it does: LengthGroupedSampler of transformers, litgpt's finetune scripts (longest_seq_ix). `shortest`:
// nullptr where it is not known.
int64_t LowestOfVaried(const LocalStep& longest, const LocalStep* shortest, const Workload& workload);
// The most of it where the other steps, which leave blocks, are not known.
absl::StatusOr<int64_t> HighestOfVaried(const LocalStep& longest, const Workload& workload);

struct VariedPeaks {
  int64_t middle_reserved_bytes = 0;  // the median of some orders of steps that chance gave, the same ones each time
  int64_t high_reserved_bytes = 0;    // the most of them
  int64_t high_allocated_bytes = 0;   // of max_memory_allocated()
};

// `steps`: at least one, of `workload`'s run at sizes that grow, each before its optimizer; an inference trains
// nothing. On a card with room for it: on another one PyTorch gives back what it keeps and runs all the same.
absl::StatusOr<VariedPeaks> PeaksOfVaried(const std::vector<LocalStep>& steps, const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_VARIED_STEPS_H_
