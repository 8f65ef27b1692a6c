// The units of fully_shard: modules whose parameters are gathered together, and the bytes of each.
#ifndef ONNX_MEM_ANALYZER_PARALLEL_FSDP_UNITS_H_
#define ONNX_MEM_ANALYZER_PARALLEL_FSDP_UNITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/parallel/step_facts.h"
#include "analyzer/run/layout.h"

namespace onnx_mem {

// One parameter of a unit, in bytes of one rank. Shards of dim 0 are padded to the same size on every rank: a parameter
// with fewer rows than ranks is not reduced.
struct ShardedParameter {
  size_t index = 0;                 // of StepFacts::parameters
  int64_t shard_bytes = 0;          // padded, in the parameter's own type
  int64_t unsharded_bytes = 0;      // all padded shards, in the type of the forward
  int64_t cast_shard_bytes = 0;     // the padded shard in that type
  int64_t reduced_shard_bytes = 0;  // and in that of the reduction
  Dims local_dims;                  // of the rank's own rows, without padding
  DType dtype = DType::kUnknown;    // the parameter's own
  bool trained = false;
};

struct FsdpUnit {
  std::string module;  // "": the root, which has what no other unit has
  std::vector<ShardedParameter> parameters;
  std::optional<ModuleSpan> forward, backward;
  bool inputs_need_gradient = false;  // what comes before it is trained, in part
};

// Modules of fully_shard but for the root. Errors (usage): a pattern that is none, or matches no module.
absl::StatusOr<std::vector<std::string>> UnitModulesOf(const StepFacts& facts, const RankLayout& layout);

// Units of these modules as far as they have parameters in the step, outer ones before what is in them; the root first.
absl::StatusOr<std::vector<FsdpUnit>> UnitsOf(const StepFacts& facts, std::vector<std::string> modules,
                                              const RankLayout& layout);
// The same of UnitModulesOf(facts, layout): of a model that no pipeline cuts.
absl::StatusOr<std::vector<FsdpUnit>> UnitsOf(const StepFacts& facts, const RankLayout& layout);

// Modules that repeat, "encoder.layers.0" and its siblings: outermost first found, those with parameters alone.
std::vector<std::string> RepeatedModules(const StepFacts& facts);

// The type of a parameter before MixedPrecisionPolicy's: the run has converted every float32 tensor.
DType OwnType(DType enacted, const RankLayout& layout);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PARALLEL_FSDP_UNITS_H_
