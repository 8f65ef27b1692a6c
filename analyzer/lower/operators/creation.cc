// Tensors made at run time, and dropout.
#include "absl/strings/match.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

// The probability of a Dropout node in a training run; 0: it does nothing.
double DropoutProbability(const Site& s) {
  if (!s.run().training) return 0.0;
  double p = s.Has(1) ? s.Number(1).value_or(0.5) : s.Float("ratio", 0.5);
  // Exported for inference: the mode says so, or nothing says anything. A probability without a mode is the dropout
  // inside torch's attention, which exporters write for a module in training only.
  if (s.version() >= 12 && (s.Has(2) ? s.Number(2).value_or(0.0) == 0.0 : !s.Has(1))) p = 0.0;
  if (s.version() < 7 && s.Int("is_test", 0) != 0) p = 0.0;
  return p;
}

// Notes on a softmax who drops its result, a function of its own module or a module inside: in inference the dropout is
// gone, but not what it says about the code (assume/names/kept_results.h).
void NoteDroppedSoftmax(Site& s, TensorId dropped) {
  const NodeId producer = dropped.valid() ? s.draft().producer(dropped) : NodeId();
  if (!producer.valid() || s.draft().node(producer).op != "softmax") return;
  const bool function = s.draft().node(producer).calls == s.scope().calls;
  s.draft().mutable_node(producer).attributes["dropout"] = std::string(function ? "function" : "module");
}

}  // namespace

void LowerRange(Site& s) { s.Emit("arange", {}, {s.Out(0)}); }

void LowerFull(Site& s) { s.Emit("full", {}, s.node().outputs); }

void LowerRandom(Site& s) { s.Emit("random", {}, {s.Out(0)}); }

void LowerDropout(Site& s) {
  ++s.lowering().dropouts;
  NoteDroppedSoftmax(s, s.Materialized(0));
  const double p = DropoutProbability(s);
  if (p <= 0.0) return s.Alias(0, s.Materialized(0));
  const bool feature = absl::StartsWith(s.scope().framework_op, "feature_dropout#");
  s.Emit(feature ? "feature_dropout" : "dropout", {s.Materialized(0)}, {s.Out(0)}, {{"p", p}});
}

}  // namespace onnx_mem
