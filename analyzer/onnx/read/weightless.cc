#include "analyzer/onnx/read/weightless.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/graph/suggest.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

using SortedNames = std::set<std::string, std::less<>>;

// Slots in which an operator reads a layer's weight. Those of a matrix product and of a lookup take activations too:
// there the name decides.
struct WeightSlots {
  std::string_view op;
  int first;
  int last;
};
constexpr auto kWeightSlots = std::to_array<WeightSlots>({{"BatchNormalization", 1, 4},
                                                          {"Conv", 1, 2},
                                                          {"ConvTranspose", 1, 2},
                                                          {"GRU", 1, 3},
                                                          {"Gather", 0, 0},
                                                          {"Gemm", 1, 2},
                                                          {"GroupNormalization", 1, 2},
                                                          {"InstanceNormalization", 1, 2},
                                                          {"LSTM", 1, 3},
                                                          {"LayerNormalization", 1, 2},
                                                          {"MatMul", 1, 1},
                                                          {"PRelu", 1, 1},
                                                          {"RMSNormalization", 1, 1},
                                                          {"RNN", 1, 3}});
constexpr auto kChangesOfLayout = std::to_array<std::string_view>({"Identity", "Transpose"});

// What nodes read as a weight, through changes of layout too.
SortedNames ReadAsWeight(const onnx::GraphProto& graph) {
  SortedNames names;
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    for (const WeightSlots& slots : kWeightSlots) {
      if (node.op_type() != slots.op) continue;
      const int end = std::min(slots.last + 1, node.input_size());
      for (int slot = slots.first; slot < end; ++slot) names.insert(node.input(slot));
    }
    const bool layout =
        std::find(kChangesOfLayout.begin(), kChangesOfLayout.end(), node.op_type()) != kChangesOfLayout.end();
    if (layout && node.input_size() > 0 && node.output_size() > 0 && names.contains(node.output(0)))
      names.insert(node.input(0));
  }
  return names;
}

bool EndsInIdentifier(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot + 1 < name.size() &&
         (std::isalpha(static_cast<unsigned char>(name[dot + 1])) != 0 || name[dot + 1] == '_');
}

// The path of a module's parameter, "layer1.0.conv1.weight", where a number ends what tracing makes up for an input,
// "input.1"; or what the exporter calls a weight that it computed.
bool IsNamedLikeWeight(std::string_view name) { return EndsInIdentifier(name) || name.starts_with("onnx::"); }

// transformers hands the cache over by such names (past_key_values.0.key).
bool IsCache(std::string_view name) { return name.starts_with("past") || name.starts_with("present"); }

// A tensor type with every dimension a number.
bool IsFixed(const onnx::ValueInfoProto& info) {
  const auto& type = info.type().tensor_type();
  const auto& dims = type.shape().dim();
  return info.type().has_tensor_type() && type.has_shape() && type.elem_type() != 0 &&
         std::all_of(dims.begin(), dims.end(),
                     [](const auto& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; });
}

bool IsFloat(const onnx::ValueInfoProto& info) {
  const int type = info.type().tensor_type().elem_type();
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16 || type == onnx::TensorProto::DOUBLE;
}

void AddWithoutContents(onnx::GraphProto& graph, const onnx::ValueInfoProto& info) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(info.name());
  tensor.set_data_type(info.type().tensor_type().elem_type());
  for (const auto& dim : info.type().tensor_type().shape().dim()) tensor.add_dims(dim.dim_value());
}

ProgramSignature SignatureOf(const onnx::GraphProto& graph) {
  for (const auto& entry : graph.metadata_props()) {
    if (entry.key() != "pkg.torch.export.ExportedProgram.graph_signature") continue;
    return ProgramSignature::Parse(entry.value());
  }
  return {};
}

// Inputs that are weights. That any is takes one with a weight's name in a weight's slot; then others with such names
// are weights too, and floating inputs of a fixed shape behind the first, which are parameters of the model itself
// ("class_token").
SortedNames WeightsAmongInputs(const onnx::GraphProto& graph) {
  SortedNames stored, weights;
  const auto may_be = [](const auto& input) {
    return IsFixed(input) && IsNamedLikeWeight(input.name()) && !IsCache(input.name());
  };
  if (std::none_of(graph.input().begin(), graph.input().end(), may_be)) return weights;  // as of most files
  for (const auto& tensor : graph.initializer()) stored.insert(tensor.name());
  const SortedNames read = ReadAsWeight(graph);
  const bool any = std::any_of(graph.input().begin(), graph.input().end(), [&](const auto& input) {
    return may_be(input) && !stored.contains(input.name()) && read.contains(input.name());
  });
  if (!any) return weights;
  const ProgramSignature signature = SignatureOf(graph);
  for (int i = 0; i < graph.input_size(); ++i) {
    const onnx::ValueInfoProto& input = graph.input(i);
    if (!IsFixed(input) || stored.contains(input.name()) || IsCache(input.name())) continue;
    const bool named = IsNamedLikeWeight(input.name()) || input.name().starts_with("val_");
    const bool of_model = i > 0 && signature.empty() && IsFloat(input) && !absl::StrContains(input.name(), ".");
    if (named || of_model || signature.FindTarget(input.name()) != nullptr) weights.insert(input.name());
  }
  return weights;
}

void StoreInputs(onnx::GraphProto& graph, const SortedNames& weights, std::vector<Diagnostic>& diagnostics) {
  if (weights.empty()) return;
  auto& inputs = *graph.mutable_input();
  for (const auto& input : inputs) {
    if (weights.contains(input.name())) AddWithoutContents(graph, input);
  }
  inputs.erase(
      std::remove_if(inputs.begin(), inputs.end(), [&](const auto& input) { return weights.contains(input.name()); }),
      inputs.end());
  const auto count = static_cast<int64_t>(weights.size());
  Diagnostic note{.code = Code::kWeightsAsInputs, .severity = Severity::kWarning, .count = count};
  note.message = absl::StrCat(weights.size(), weights.size() == 1 ? " input is" : " inputs are",
                              " counted as the model's weights, as '", *weights.begin(), "'");
  note.details = {
      "why: their names are those of module parameters, and operators read them as weights: the model was exported "
      "without its weights",
      std::string(kExportRecipe)};
  diagnostics.push_back(std::move(note));
}

// Values that nodes of the main graph read and that nothing makes.
SortedNames Unmade(const onnx::GraphProto& graph) {
  SortedNames made, unmade;
  for (const auto& input : graph.input()) made.insert(input.name());
  for (const auto& tensor : graph.initializer()) made.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) made.insert(tensor.values().name());
  for (const auto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      if (!input.empty() && !made.contains(input)) unmade.insert(input);
    }
  }
  return unmade;
}

}  // namespace

absl::Status RestoreWeights(onnx::ModelProto& model, const std::string& path, std::vector<Diagnostic>& diagnostics) {
  onnx::GraphProto& graph = *model.mutable_graph();
  StoreInputs(graph, WeightsAmongInputs(graph), diagnostics);
  if (graph.initializer_size() > 0) return absl::OkStatus();
  SortedNames unmade = Unmade(graph);
  if (unmade.empty()) return absl::OkStatus();
  const SortedNames read = ReadAsWeight(graph);
  for (const auto& info : graph.value_info()) {
    if (!unmade.contains(info.name()) || !IsFixed(info)) continue;
    AddWithoutContents(graph, info);
    unmade.erase(info.name());
  }
  const auto weight = std::find_if(unmade.begin(), unmade.end(), [&](const auto& name) { return read.contains(name); });
  if (weight == unmade.end()) return absl::OkStatus();
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kNoWeights,
      absl::StrCat("'", path, "' was saved without its weights, and their shapes are not in it either: ", unmade.size(),
                   unmade.size() == 1 ? " value" : " values", ", such as '", *weight, "'"),
      {"way out: onnx_program.save(path, include_initializers=False, keep_initializers_as_inputs=True), which keeps "
       "the "
       "shapes",
       "way out: onnx_program.save(path, external_data=True): the second file, which holds the weights, need not be "
       "there"});
}

}  // namespace onnx_mem
