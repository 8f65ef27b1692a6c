// How a training step is spread over several cards, as the question says it. Names follow PyTorch's.
#ifndef ONNX_MEM_ANALYZER_RUN_LAYOUT_H_
#define ONNX_MEM_ANALYZER_RUN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/graph/dtype.h"

namespace onnx_mem {

// A row of analyzer/parallel each.
enum class DataParallel : uint8_t { kNone, kDdp, kZero1, kFsdp };

// fully_shard(reshard_after_forward=): kDefault is torch's None, all units but the root.
enum class Reshard : uint8_t { kDefault, kYes, kNo, kToSmallerMesh };

struct RankLayout {
  DataParallel data = DataParallel::kNone;
  int64_t ranks = 1;     // that share the batch; of HSDP: that share a copy of the parameters
  int64_t replicas = 1;  // of HSDP: copies
  // FSDP's units: a regex over whole module paths; "": the blocks that repeat; "none": the root alone.
  std::string units;
  Reshard reshard = Reshard::kDefault;
  int64_t reshard_ranks = 0;            // of kToSmallerMesh
  std::optional<DType> unsharded_type;  // MixedPrecisionPolicy(param_dtype=)
  std::optional<DType> reduce_type;     // MixedPrecisionPolicy(reduce_dtype=)
  bool host = false;                    // CPUOffloadPolicy: shards, gradients and optimizer state are on the host
  bool bucket_view = false;             // DDP's gradient_as_bucket_view
  bool sync_every = false;              // gradients are reduced in each micro-batch, not in the last one alone
  std::optional<int64_t> rank;          // unset: the one that needs most
  friend bool operator==(const RankLayout&, const RankLayout&) = default;
};

// More ranks need less each.
inline bool IsSharded(const RankLayout& layout) {
  return layout.data == DataParallel::kZero1 || layout.data == DataParallel::kFsdp;
}

inline bool IsSpread(const RankLayout& layout) { return layout.data != DataParallel::kNone; }

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_LAYOUT_H_
