// Which segments may be checkpointed where FSDP2 gathers parameters unit by unit, tensor parallelism splits modules, or
// a pipeline cuts the model.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_UNIT_BORDERS_H_
#define ONNX_MEM_ANALYZER_PARALLEL_UNIT_BORDERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/parallel/fsdp_units.h"
#include "analyzer/parallel/stage_cut.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// One whole unit, or modules that lie inside one, the root among them. A unit's hooks gather its parameters where it
// is called: torch refuses a segment in which several units are called ("hooks of these modules would see the wrong
// tensors"). `units`: modules of fully_shard but for the root.
bool KeepsUnits(const Segment& segment, const std::vector<std::string>& units);

// Modules of fully_shard but for the root.
std::vector<std::string> NamesOf(const std::vector<FsdpUnit>& units);

// Error (bad-plan): one of `segments` does not keep `units`.
absl::Status CheckSegments(const std::vector<Segment>& segments, const std::vector<std::string>& units);

// What a module that is split exchanges is done by hooks around its forward, while a plan wraps the forward alone: a
// segment has such modules inside of its own, or none. `split`: their paths.
bool KeepsHooks(const Segment& segment, const std::vector<std::string>& split);

// Error (bad-plan): one of `segments` does not.
absl::Status CheckHooks(const std::vector<Segment>& segments, const std::vector<std::string>& split);

// By stage: those of `segments` with nodes of it, a module that several stages call in each of them. `whole`: the graph
// that was cut. Errors: unknown-module, unknown-node; bad-plan where a segment begins in one stage and ends in another.
absl::StatusOr<std::vector<std::vector<Segment>>> SegmentsByStage(const FrameworkGraph& whole,
                                                                  const std::vector<StageGraph>& stages,
                                                                  const std::vector<Segment>& segments);

// Modules with nodes in more than one stage: no stage can wrap them.
std::vector<std::string> ModulesAcross(const FrameworkGraph& whole, const std::vector<StageGraph>& stages);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_UNIT_BORDERS_H_
