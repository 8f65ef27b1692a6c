#include "analyzer/runtimes/runtime.h"

#include <algorithm>
#include <array>

namespace onnx_mem {
namespace {

constexpr auto kRuntimes = std::to_array<RuntimeRow>({
    {"pytorch", Client::kFramework, /*eager=*/true, EagerInference},
    {"onnxruntime", Client::kSession, /*eager=*/false, SessionInference},
});

}  // namespace

const RuntimeRow& RuntimeOf(const Workload& workload) {
  const std::span<const AllocatorRow> rows = Allocators();
  const auto allocator =
      std::find_if(rows.begin(), rows.end(), [&](const AllocatorRow& row) { return row.name == workload.allocator; });
  if (allocator == rows.end()) return kRuntimes.front();  // the replay reports the error
  return *std::find_if(kRuntimes.begin(), kRuntimes.end(),
                       [&](const RuntimeRow& row) { return row.client == allocator->client; });
}

}  // namespace onnx_mem
