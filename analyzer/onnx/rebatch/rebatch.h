// A model exported with fixed input sizes, inferred at others: the constants that carry the exported sizes are found
// and rewritten, and everything is checked afterwards. Refused where a size is lost on the way, because a model that
// infers without complaint at a wrong batch is the one error nobody would see.
//
// Pass 1 infers at the exported sizes. Probe passes infer with every changed size multiplied by a prime (trace.h):
// node by node the operator's rule (rule.h) says which constants must follow; sizes wished for are granted by
// the operand's producer, up to an initializer, in the next probe pass. What was decided is then replayed at the sizes
// that were requested, and every value must have exactly the size that the probe predicts.
#ifndef ONNX_MEM_ANALYZER_ONNX_REBATCH_REBATCH_H_
#define ONNX_MEM_ANALYZER_ONNX_REBATCH_REBATCH_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/onnx/build/bind.h"
#include "analyzer/onnx/build/build_graph.h"
#include "analyzer/onnx/infer/shapes.h"

namespace onnx_mem {

struct Rebatched {
  InferredGraph facts;
  std::vector<InputRewrite> rewrites;
  int64_t followed = 0;                   // constants, initializers and inputs that were made to follow
  std::map<std::string, bool> unreached;  // as in BatchPlan
};

// What does not depend on the sizes requested, kept between the imports of a sweep.
struct RebatchMemory;

class Rebatcher {
 public:
  Rebatcher();
  ~Rebatcher();

  // `bound` has changes. Errors (InvalidArgument): static-batch, naming the node at which following ended.
  absl::StatusOr<Rebatched> Infer(const onnx::ModelProto& model, const BoundInputs& bound);

 private:
  absl::StatusOr<Rebatched> Follow(const onnx::ModelProto& model, const BoundInputs& bound,
                                   const std::vector<DimChange>& changes);

  std::unique_ptr<RebatchMemory> memory_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_REBATCH_REBATCH_H_
