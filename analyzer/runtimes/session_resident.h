// What a session on the CPU makes its process grow by, as VmRSS shows it: with the pages that the C library's heap
// keeps after the weights were loaded.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_RESIDENT_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_RESIDENT_H_

#include <cstdint>
#include <span>

#include "analyzer/allocators/allocator.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

struct SessionResidence {
  int64_t bytes = 0;         // after some runs
  int64_t unread_bytes = 0;  // of weights: rows of tables in a mapped file, which no run asks for
  int64_t peak_bytes = 0;    // the most at any moment, VmHWM, however the heap's holes lie
};

// `regions`: of the session's arena, in the order in which they were taken. `external`: the weights lie in a file
// beside the model, which is mapped and not read. The library's own code is not in it.
SessionResidence ResidenceOf(const Graph& file, const Graph& session, std::span<const RegionUse> regions,
                             bool external);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_RESIDENT_H_
