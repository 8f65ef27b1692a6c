// Losses inside the graph.
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {

// cross_entropy is log_softmax followed by nll_loss.
void LowerSoftmaxCrossEntropy(Site& s) {
  const Dims& dims = s.InShape(0).dims;
  const TensorId log_softmax = s.OutUsed(1) ? s.Out(1) : s.Temp(dims, s.InType(0));
  s.Emit("log_softmax", {s.Materialized(0)}, {log_softmax}, {{"axis", int64_t{1}}});
  s.Emit("nll_loss", {log_softmax, s.Materialized(1)}, {s.Out(0)}, {{"reduction", s.String("reduction", "mean")}});
}

void LowerNegativeLogLikelihood(Site& s) {
  s.Emit("nll_loss", {s.Materialized(0), s.Materialized(1)}, {s.Out(0)},
         {{"reduction", s.String("reduction", "mean")}});
}

}  // namespace onnx_mem
