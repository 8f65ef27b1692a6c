// How a training step is spread over several cards, as the question says it. Names follow PyTorch's.
#ifndef ONNX_MEM_ANALYZER_RUN_LAYOUT_H_
#define ONNX_MEM_ANALYZER_RUN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/graph/dtype.h"

namespace onnx_mem {

// A row of analyzer/parallel each.
enum class DataParallel : uint8_t { kNone, kDdp, kZero1, kFsdp };

// fully_shard(reshard_after_forward=): kDefault is torch's None, all units but the root.
enum class Reshard : uint8_t { kDefault, kYes, kNo, kToSmallerMesh };

// A row of analyzer/parallel/schedules each; names are those of torch.distributed.pipelining.
enum class PipelineSchedule : uint8_t { kGpipe, k1F1B, kInterleaved1F1B, kInterleavedZeroBubble };

// A pipeline: stage s is on rank s modulo `ranks`.
struct PipelineLayout {
  int64_t ranks = 1;
  int64_t stages_per_rank = 1;
  int64_t micro_batches = 0;       // of a step; 0: one per stage
  std::vector<std::string> split;  // modules at which a new stage begins; empty: balanced by FLOPs
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  bool return_outputs = true;  // step(return_outputs=): the last stage keeps all outputs and joins them
  friend bool operator==(const PipelineLayout&, const PipelineLayout&) = default;
};

// What a tensor-parallel plan does with a module: classes of torch.distributed.tensor.parallel. kGathered: colwise with
// output_layouts=Replicate(); kEmbedding: rowwise over the vocabulary; kSequence: SequenceParallel; kGatherInput:
// PrepareModuleInput from a shard of the sequence to the whole.
enum class TensorStyle : uint8_t { kColwise, kRowwise, kGathered, kEmbedding, kSequence, kGatherInput };

struct TensorLayout {
  int64_t ranks = 1;
  // Regexes over whole module paths; empty: the plan of a transformer is found in the graph.
  std::vector<std::pair<std::string, TensorStyle>> plan;
  std::vector<std::pair<std::string, TensorStyle>> sequence_plan;  // what `sequence` adds
  bool sequence = false;  // sequence parallel: outputs of row-wise layers are shards of the sequence
  bool loss = false;      // loss_parallel(): logits stay shards
  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

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
  PipelineLayout pipeline;
  TensorLayout tensor;
  friend bool operator==(const RankLayout&, const RankLayout&) = default;
};

// More ranks need less each.
inline bool IsSharded(const RankLayout& layout) {
  return layout.data == DataParallel::kZero1 || layout.data == DataParallel::kFsdp;
}

inline bool IsPipeline(const RankLayout& layout) { return layout.pipeline.ranks > 1; }
inline bool IsTensorParallel(const RankLayout& layout) { return layout.tensor.ranks > 1; }

inline bool IsSpread(const RankLayout& layout) {
  return layout.data != DataParallel::kNone || IsPipeline(layout) || IsTensorParallel(layout);
}

inline int64_t StagesOf(const PipelineLayout& pipeline) { return pipeline.ranks * pipeline.stages_per_rank; }
inline int64_t MicroBatchesOf(const PipelineLayout& pipeline) {
  return pipeline.micro_batches > 0 ? pipeline.micro_batches : StagesOf(pipeline);
}
// Which of a layout's numbers of ranks a question varies: those that share the batch, that split tensors, or the
// stages.
enum class RankAxis : uint8_t { kData, kTensor, kPipeline };
inline int64_t RanksAlong(RankAxis axis, const RankLayout& layout) {
  if (axis == RankAxis::kData) return layout.ranks;
  return axis == RankAxis::kTensor ? layout.tensor.ranks : layout.pipeline.ranks;
}
inline void SetRanksAlong(RankAxis axis, int64_t ranks, RankLayout& layout) {
  if (axis == RankAxis::kData) layout.ranks = ranks;
  if (axis == RankAxis::kTensor) layout.tensor.ranks = ranks;
  if (axis == RankAxis::kPipeline) layout.pipeline.ranks = ranks;
}

// Ranks are numbered as a mesh of (pipeline, copies, shards, tensor) lays them out.
inline int64_t RanksOfStage(const RankLayout& layout) {
  return layout.ranks * layout.replicas * layout.tensor.ranks;
}
// Of one step together.
inline int64_t WorldOf(const RankLayout& layout) { return RanksOfStage(layout) * layout.pipeline.ranks; }
// Of the pipeline, and of those that share the batch.
inline int64_t StageRankOf(const RankLayout& layout, int64_t rank) { return rank / RanksOfStage(layout); }
inline int64_t DataRankOf(const RankLayout& layout, int64_t rank) {
  return rank / layout.tensor.ranks % (layout.ranks * layout.replicas);
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_LAYOUT_H_
