// Whether a parameter is trained is in no file: nn.Parameter(torch.tensor(d ** -0.5), requires_grad=False) looks like
// any other. It matters where one number scales a whole activation: trained, its product saves that activation for
// backward; frozen, it saves nothing but the number. Weights, biases and vectors of layers are trained, as the
// framework's modules make them; of a single number the code alone knows. It is counted as trained, which is what
// nn.Parameter gives unless it is set otherwise, and a range says what it would be otherwise. A scale of attention
// scores is as likely fixed: a warning. Source: torch/csrc/autograd/FunctionsManual.cpp (mul_tensor_backward),
// tools/autograd/derivatives.yaml (mul.Tensor saves the other operand of what needs a gradient).
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/lower/operators/site.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// Under a softmax, through masks.
bool BecomesWeights(const Draft& draft, TensorId scores, int depth = 0) {
  constexpr int kDeepest = 4;
  const NodeIds& readers = draft.readers(scores);
  return depth < kDeepest && std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const FrameworkNode& node = draft.node(reader);
           return node.op == "softmax" || (TakesMask(node.op) && BecomesWeights(draft, node.outputs[0], depth + 1));
         });
}

struct Scales {
  TensorIds parameters;
  int64_t saved_bytes = 0;  // activations that are saved for their gradients alone
  bool of_scores = false;
};

// The factor of a product that is one number of the module's parameters; invalid if there is none.
TensorId NumberOf(const Draft& draft, const FrameworkNode& node) {
  if ((node.op != "mul" && node.op != "div") || node.inputs.size() != 2) return TensorId();
  for (TensorId input : node.inputs) {
    const Tensor& tensor = draft.tensor(input);
    const bool is_number = draft.kind(input) == TensorKind::kParameter && !draft.producer(input).valid() &&
                           NumElements(tensor.shape) == 1 && !IsExporterName(tensor.name);
    if (is_number && draft.producer(OtherOperand(node, input)).valid()) return input;
  }
  return TensorId();
}

Scales FindScales(const Draft& draft) {
  Scales scales;
  for (NodeId id : draft.InOrder()) {
    const FrameworkNode& node = draft.node(id);
    const TensorId number = NumberOf(draft, node);
    if (!number.valid()) continue;
    if (std::find(scales.parameters.begin(), scales.parameters.end(), number) == scales.parameters.end())
      scales.parameters.push_back(number);
    const Tensor& scaled = draft.tensor(OtherOperand(node, number));
    scales.saved_bytes += NumBytes(scaled.shape, scaled.dtype).value_or(0);
    scales.of_scores = scales.of_scores || BecomesWeights(draft, node.outputs[0]);
  }
  return scales;
}

}  // namespace

int64_t SettleScales(Lowering& lowering) {
  constexpr int64_t kNoticeable = 1000;  // one part in
  constexpr size_t kNamed = 3;
  const Run& run = lowering.run;
  const Draft& draft = lowering.draft;
  if (!run.training || !run.freeze.empty()) return 0;  // the user has said what is trained
  const Scales scales = FindScales(draft);
  if (scales.parameters.empty() || scales.saved_bytes < MadeBytes(draft) / kNoticeable) return 0;
  if (run.freeze_scales) {
    lowering.frozen.insert(scales.parameters.begin(), scales.parameters.end());
    return 0;
  }
  std::vector<std::string> names;
  for (TensorId id : scales.parameters) {
    if (names.size() < kNamed) names.push_back(draft.tensor(id).name);
  }
  if (scales.parameters.size() > kNamed) names.emplace_back("...");
  const auto count = static_cast<int64_t>(scales.parameters.size());
  lowering.diagnostics.push_back(
      {Code::kTrainedUndecided,
       scales.of_scores ? Severity::kWarning : Severity::kNote,
       count,
       absl::StrCat(count,
                    " parameters of one number each scale activations and are counted as trained, which the file "
                    "does not show"),
       {absl::StrCat("what: ", absl::StrJoin(names, ", ")),
        "why: what a trained number scales is saved for backward; for a fixed one (requires_grad=False) nothing is",
        "way out: --freeze REGEX if they are fixed"},
       scales.saved_bytes});
  return 0;
}

}  // namespace onnx_mem
