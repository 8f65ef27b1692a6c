// The groups of ranks that a layout's collectives run in, and what NCCL takes for them (devices/communicators.h).
#ifndef ONNX_MEM_ANALYZER_PARALLEL_COMMUNICATOR_BUFFERS_H_
#define ONNX_MEM_ANALYZER_PARALLEL_COMMUNICATOR_BUFFERS_H_

#include <vector>

#include "analyzer/devices/communicators.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// Of a rank: of DDP one, whose gradients are summed; of FSDP2 one that gathers and scatters, and of HSDP one more among
// the copies; of tensor parallelism one; of a pipeline one, with a neighbour on either side.
std::vector<Communicator> CommunicatorsOf(const RankLayout& layout);

// Of all of them. One card has none.
Overhead CommunicatorBuffers(const RankLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_COMMUNICATOR_BUFFERS_H_
