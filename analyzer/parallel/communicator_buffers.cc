#include "analyzer/parallel/communicator_buffers.h"

#include <algorithm>

namespace onnx_mem {

std::vector<Communicator> CommunicatorsOf(const RankLayout& layout) {
  std::vector<Communicator> groups;
  const bool fsdp = layout.data == DataParallel::kFsdp;
  if (layout.data != DataParallel::kNone && layout.ranks > 1) groups.push_back({.all_reduces = !fsdp});
  if (layout.replicas > 1) groups.push_back({.all_reduces = true});
  if (IsTensorParallel(layout)) groups.push_back({.all_reduces = !layout.tensor.sequence});
  if (IsPipeline(layout)) {
    groups.push_back({.all_reduces = false, .neighbours = std::min<int64_t>(layout.pipeline.ranks - 1, 2)});
  }
  return groups;
}

Overhead CommunicatorBuffers(const RankLayout& layout) {
  Overhead sum;
  for (const Communicator& group : CommunicatorsOf(layout)) {
    const Overhead one = BuffersOf(group);
    sum.bytes += one.bytes;
    sum.low_bytes += one.low_bytes;
    sum.high_bytes += one.high_bytes;
  }
  return sum;
}

}  // namespace onnx_mem
