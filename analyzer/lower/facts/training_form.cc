#include "analyzer/lower/facts/training_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/program_signature.h"

namespace onnx_mem {
namespace {

// Calls that behave otherwise in training, and which argument says that it is training.
struct ModeArgument {
  std::string_view target;
  size_t place;
};

// Source: aten/src/ATen/native/native_functions.yaml. A norm without running statistics is none of them: it is made to
// train in evaluation too (torch/nn/modules/batchnorm.py, _BatchNorm.forward).
constexpr auto kModeArguments = std::to_array<ModeArgument>({
    {"aten._native_batch_norm_legit_functional.default", 5},
    {"aten.alpha_dropout.default", 2},
    {"aten.dropout.default", 2},
    {"aten.feature_alpha_dropout.default", 2},
    {"aten.feature_dropout.default", 2},
    {"aten.native_dropout.default", 2},
});

// The call that the node became of, or that was folded into it, ran in training mode.
bool IsTrainingCall(const Node& node) {
  const std::string& text = FxTextOf(node);
  const auto* row = std::find_if(kModeArguments.begin(), kModeArguments.end(), [&](const ModeArgument& mode) {
    return absl::StrContains(text, absl::string_view(mode.target.data(), mode.target.size()));
  });
  if (row == kModeArguments.end()) return false;
  const FxCall call = ParseFxCall(text);
  return call.target == row->target && call.args.size() > row->place && call.args[row->place] == "True";
}

std::optional<double> NumberIn(const Graph& graph, TensorId id) {
  if (!id.valid() || graph.tensors[id].value == nullptr) return std::nullopt;
  const Literal& value = *graph.tensors[id].value;
  if (value.floats() != nullptr && value.floats()->size() == 1) return value.floats()->front();
  return std::nullopt;
}

// The operand that holds the probability with which random numbers of 0 and 1 are 1; invalid if `id` is nothing of the
// kind. As exporters write x.bernoulli_(p): random() < p.
TensorId ProbabilityOf(const Graph& graph, TensorId id) {
  const Node* node = graph.MakerOf(id);
  while (node != nullptr && (node->op == "Cast" || node->op == "CastLike" || node->op == "Identity")) {
    node = graph.MakerOf(node->inputs[0]);
  }
  if (node == nullptr || node->op != "Less" || node->inputs.size() != 2) return TensorId();
  const Node* random = graph.MakerOf(node->inputs[0]);
  return random != nullptr && random->op.str().starts_with("RandomUniform") ? node->inputs[1] : TensorId();
}

// noise.bernoulli_(p).div_(p), which only something that drops asks for: F.dropout2d, stochastic depth. (An autoencoder
// that masks what it reads draws numbers too, but in both modes, and does not scale them.)
// Sources: aten/src/ATen/native/Dropout.cpp (_dropout_impl), torchvision/ops/stochastic_depth.py, timm/layers/drop.py.
bool ScalesNoise(const Graph& graph, const Node& node) {
  if (node.op != "Div" || node.inputs.size() != 2) return false;
  const TensorId probability = ProbabilityOf(graph, node.inputs[0]);
  if (!probability.valid()) return false;
  if (probability == node.inputs[1]) return true;
  const std::optional<double> drawn = NumberIn(graph, probability), divisor = NumberIn(graph, node.inputs[1]);
  constexpr double kRounding = 1e-6;
  return drawn && divisor && std::abs(*drawn - *divisor) < kRounding;
}

// An operator that has a mode of its own.
bool SaysTraining(const Graph& graph, const Node& node) {
  if (node.op == "BatchNormalization") return IntAttribute(node, "training_mode", 0) != 0;
  if (node.op != "Dropout" || node.inputs.size() < 3 || !node.inputs[2].valid()) return false;
  const LiteralPtr& mode = graph.tensors[node.inputs[2]].value;
  return mode != nullptr && mode->ints() != nullptr && mode->ints()->size() == 1 && mode->ints()->front() != 0;
}

}  // namespace

bool IsTrainingForm(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return SaysTraining(graph, node) || IsTrainingCall(node) || ScalesNoise(graph, node);
  });
}

bool IsScaledNoise(const Graph& graph, TensorId id) {
  const Node* maker = graph.MakerOf(id);
  return maker != nullptr && ScalesNoise(graph, *maker);
}

}  // namespace onnx_mem
