// A BatchNorm that was folded into a convolution leaves a convolution with a bias, and one that has just been made (no
// shift, a scale of one) leaves one without. Where the file's names tell (exporters/folded_batch_norm.cc) it is put
// back; where nothing tells whether there was one, the network is taken as it stands and the range is reported.
//
//   conv(x, "W3", "B3") -> relu,  no norm anywhere   ->   bn-undecided
//
// What settles it:
//   the signature of the exported program   names every parameter
//   the names of torch.onnx's tracer        a convolution's weight has its module's name, ending in ".weight", while
//                                           nobody computed a new one (torch/csrc/jit/passes/onnx/eval_peephole.cpp)
//   a norm in the file                      an optimizer that folds would have folded it, or it is no BatchNorm
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// What stands behind a BatchNorm, and in networks without norms behind the convolution.
bool StandsBehindNorms(const OpName& op) {
  return IsActivation(op) || op == "softplus" || op == "add" || op == "clamp" || op == "mul";
}

// A stored weight whose name tells nothing of the module that has it.
bool HasUnlistedWeight(const Draft& draft, const FrameworkNode& conv) {
  const TensorId weight = conv.inputs.size() > 1 ? conv.inputs[1] : TensorId();
  if (!weight.valid() || draft.producer(weight).valid()) return false;
  const std::string& name = draft.tensor(weight).name;
  return !absl::EndsWith(name, ".weight") && !IsFoldedOperand(name, "Conv");
}

bool MayHaveHadNorm(const Draft& draft, const FrameworkNode& conv) {
  const NodeIds& readers = draft.readers(conv.outputs[0]);
  return HasUnlistedWeight(draft, conv) && !readers.empty() &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return StandsBehindNorms(draft.node(reader).op); });
}

}  // namespace

int64_t TellUndecidedNorms(Lowering& lowering) {
  constexpr int64_t kFewest = 2;  // one convolution is the stem of a network of another kind
  const Draft& draft = lowering.draft;
  if (lowering.run.batch_norm != BatchNormMode::kAuto || lowering.training_form) return 0;
  if (!lowering.source.signature.empty()) return 0;
  int64_t possible = 0;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    if (IsNorm(node.op)) return 0;
    possible += IsConvolution(node.op) && MayHaveHadNorm(draft, node);
  }
  if (possible < kFewest) return 0;
  lowering.diagnostics.push_back(
      {Code::kBnUndecided,
       Severity::kNote,
       possible,
       absl::StrCat(possible,
                    " convolutions may have had a BatchNorm that was folded into them: the file does not "
                    "show whether, and they are counted as they stand"),
       {"why: a BatchNorm makes a tensor of its own, and saves its input for backward",
        "try: ... --bn unfold   # if the model has BatchNorms; as-is if it has none", std::string(kExportRecipe)},
       {}});
  return 0;
}

}  // namespace onnx_mem
