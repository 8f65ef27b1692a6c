#include "analyzer/lower/facts/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analyzer/exported/exporter_metadata.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/lower/facts/quantized_weights.h"

namespace onnx_mem {
namespace {

bool AllDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Last parts of names that frameworks give to buffers: register_buffer in torch, torchvision, timm, transformers.
constexpr std::array<std::string_view, 24> kBufferNames = {
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "position_ids",
    "token_type_ids",
    "inv_freq",
    "cos_cached",
    "sin_cached",
    "freqs_cis",
    "freqs",
    "attn_mask",
    "mask",
    "causal_mask",
    "masked_bias",
    "relative_position_index",
    "anchors",
    "anchor_grid",
    "pixel_mean",
    "pixel_std",
    "image_mean",
    "image_std",
    "pe",
    "relative_coords_table",
    "final_logits_bias",
};

// ATen operators that dynamo's exporter evaluates when all that they read is stored. What they give is named after
// them, with a number from the second on: "unsqueeze", "unsqueeze_14". Parameters have the names that the model gave
// them.
constexpr auto kFoldedCalls = std::to_array<std::string_view>({
    "_to_copy",    "add",
    "arange",      "cat",
    "clone",       "convert_element_type",
    "cos",         "cumsum",
    "div",         "einsum",
    "exp",         "expand",
    "flip",        "full",
    "index",       "linspace",
    "masked_fill", "mul",
    "neg",         "new_ones",
    "new_zeros",   "ones",
    "outer",       "permute",
    "pow",         "reciprocal",
    "repeat",      "reshape",
    "rsqrt",       "select",
    "sigmoid",     "sin",
    "slice",       "slice_scatter",
    "softmax",     "sqrt",
    "squeeze",     "stack",
    "sub",         "sum",
    "t",           "tmp",
    "transpose",   "tril",
    "triu",        "unsqueeze",
    "view",        "where",
    "zeros",       "abs",
    "full_like",   "ge",
    "gt",          "le",
    "lt",          "zeros_like",
    "ones_like",   "rsub",
});

// At most one dimension that is not 1: the scale of a layer, seen through a view, rather than a table.
bool IsVector(const Shape& shape) {
  return shape.rank() == 0 ||
         std::count_if(shape.dims.begin(), shape.dims.end(), [](int64_t d) { return d != 1; }) <= 1;
}

// Operators and slots whose floating operand is a layer's weight, whatever its name.
struct WeightSlot {
  std::string_view op;
  int first;
  int last;
};
constexpr std::array<WeightSlot, 13> kWeightSlots = {{
    {"Conv", 1, 2},
    {"ConvTranspose", 1, 2},
    {"Gemm", 1, 2},
    {"MatMul", 1, 1},
    {"BatchNormalization", 1, 2},
    {"LayerNormalization", 1, 2},
    {"GroupNormalization", 1, 2},
    {"RMSNormalization", 1, 1},
    {"PRelu", 1, 1},
    {"LSTM", 1, 3},
    {"GRU", 1, 3},
    {"RNN", 1, 3},
    {"FusedConv", 1, 2},
}};

bool InSlots(const Node& node, TensorId id, int first, int last) {
  for (int i = first; i <= last && i < static_cast<int>(node.inputs.size()); ++i) {
    if (node.inputs[static_cast<size_t>(i)] == id) return true;
  }
  return false;
}

// Operators and slots whose floating operand is a buffer: running statistics, the window of a spectrum.
constexpr std::array<WeightSlot, 2> kBufferSlots = {{{"BatchNormalization", 3, 4}, {"STFT", 2, 2}}};

bool IsInBufferSlot(const Graph& graph, TensorId id) {
  const auto& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return std::any_of(kBufferSlots.begin(), kBufferSlots.end(), [&](const WeightSlot& slot) {
      return graph.nodes[reader].op == slot.op && InSlots(graph.nodes[reader], id, slot.first, slot.last);
    });
  });
}

// Modules that hold the tables of a rotary embedding, and nothing that is trained.
constexpr auto kRotaryModules = std::to_array<std::string_view>({"rope", "rotary_emb", "rotary_pos_emb"});

bool HasBufferName(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  const std::string_view path = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  const std::string_view owner = path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1);
  if (std::find(kRotaryModules.begin(), kRotaryModules.end(), owner) != kRotaryModules.end()) return true;
  // torch/_export/passes/lift_constants_pass.py: tensors that the model keeps, but did not register
  if (absl::StartsWith(View(last), "lifted_tensor_")) return true;
  return std::find(kBufferNames.begin(), kBufferNames.end(), last) != kBufferNames.end() ||
         absl::EndsWith(View(last), "_mask");
}

// "unsqueeze_14" -> "unsqueeze".
std::string_view CallOf(std::string_view name) {
  const size_t underscore = name.rfind('_');
  return underscore != std::string_view::npos && AllDigits(name.substr(underscore + 1)) ? name.substr(0, underscore)
                                                                                        : name;
}

// The name of a folded result in a dynamo export: "val_34", "unsqueeze_14".
bool IsResultName(std::string_view name) {
  if (absl::StartsWith(View(name), "val_") && AllDigits(name.substr(4))) return true;
  return std::find(kFoldedCalls.begin(), kFoldedCalls.end(), CallOf(name)) != kFoldedCalls.end();
}

// A folded expression (swin's gathered relative position bias), not the parameter that it was computed from.
bool IsFoldedExpression(const Tensor& tensor) {
  if (IsResultName(tensor.name)) return !IsVector(tensor.shape);
  if (tensor.shape.rank() < 3 || IsVector(tensor.shape)) return false;
  return IsFoldedOperand(tensor.name, "Add") || IsFoldedOperand(tensor.name, "Sub") ||
         IsFoldedOperand(tensor.name, "Where");
}

// Where the file has the signature of the exported program: true if a call that reads the tensor names it as its
// argument, not a parameter. It is what a call gave that read stored tensors alone, whatever the name of that call:
// "linear_8" of distances. "embedding_1" stands for its table, of which it has rows.
bool IsResultOfCall(const Graph& graph, TensorId id) {
  const std::string& name = graph.tensors[id].name;
  if (CallOf(name) == "embedding" || graph.signature.empty()) return false;
  if (graph.signature.FindTarget(name) != nullptr) return false;
  const NodeIds& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return IsArgumentOfCall(graph.nodes[reader], name); });
}

// What a change of type gave, in a program that has a tensor of the code which is not in the file: made of that.
// "type_as" of the mean of the data, which SwinIR takes off its input and adds to its output.
bool IsConvertedConstant(const Graph& graph, TensorId id) {
  constexpr auto kConversions =
      std::to_array<std::string_view>({"_to_copy", "clone", "lift_fresh_copy", "to", "type_as"});
  const std::string_view call = CallOf(graph.tensors[id].name);
  if (std::find(kConversions.begin(), kConversions.end(), call) == kConversions.end()) return false;
  const auto is_stored = [&](const std::string& name) {
    return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                       [&](TensorId stored) { return graph.tensors[stored].name == name; });
  };
  const std::vector<SignatureEntry>& entries = graph.signature.entries();
  return std::any_of(entries.begin(), entries.end(), [&](const SignatureEntry& entry) {
    return entry.kind == SignatureKind::kConstant && !is_stored(entry.target);
  });
}

// Calls that parameters do not go through: frequencies, positions, tensors filled with a number.
constexpr auto kTableCalls =
    std::to_array<std::string_view>({"arange", "cos", "cumsum", "full", "full_like", "linspace", "new_ones",
                                     "new_zeros", "ones", "ones_like", "outer", "pow", "sin", "zeros", "zeros_like"});

// Stored, or a change of layout of what is.
bool IsStoredThroughLayout(const Graph& graph, TensorId id) {
  constexpr int kMostChanges = 4;
  constexpr auto kLayout =
      std::to_array<std::string_view>({"Unsqueeze", "Reshape", "Transpose", "Squeeze", "Expand", "Cast"});
  for (int i = 0; i <= kMostChanges && id.valid(); ++i) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.role != TensorRole::kActivation) return true;
    if (!tensor.producer.valid()) return false;
    const Node& maker = graph.nodes[tensor.producer];
    if (std::find(kLayout.begin(), kLayout.end(), maker.op) == kLayout.end()) return false;
    id = maker.inputs[0];
  }
  return false;
}

// The table of a relative position bias, in a layout of the exporter's: a column for each head, a row for each offset
// (of (2W - 1)² in a window: swin; of W² distances: LeViT), picked from by a stored index.
bool IsRelativeTable(const Graph& graph, TensorId id) {
  constexpr int64_t kMostHeads = 64;
  const Tensor& tensor = graph.tensors[id];
  const Dims& dims = tensor.shape.dims;
  if (dims.size() != 2 || dims[1] > kMostHeads || tensor.consumers.size() != 1) return false;
  const Node& reader = graph.nodes[tensor.consumers[0]];
  if ((reader.op != "GatherND" && reader.op != "Gather") || reader.inputs[0] != id) return false;
  const auto root = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(dims[0]))));
  return root > 1 && root * root == dims[0] && IsStoredThroughLayout(graph, reader.inputs[1]);
}

// What the signature of the exported program says of a tensor that some node reads; nullptr where it says nothing.
const SignatureEntry* ToldBySignature(const Graph& graph, const Tensor& tensor) {
  return tensor.consumers.empty() ? nullptr : graph.signature.FindTarget(tensor.name);
}

// Where the file has the signature of the exported program, that names every parameter. A stored tensor of another name
// is what the exporter computed of one only if a call that reads it reads a parameter too. All else are
// numbers of the code: the probability of a stochastic depth, in a tensor of its own. Of more than one element it may
// be what was computed of a parameter by several calls.
bool IsNumberOfCode(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (graph.signature.empty() || graph.signature.FindTarget(tensor.name) != nullptr) return false;
  if (std::any_of(tensor.shape.dims.begin(), tensor.shape.dims.end(), [](int64_t d) { return d != 1; })) return false;
  return !tensor.consumers.empty() &&
         std::none_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId reader) {
           if (FxTextOf(graph.nodes[reader]).empty()) return true;  // it may be one for all we know
           const FxCall call = FxCallOf(graph.nodes[reader]);
           return std::any_of(call.args.begin(), call.args.end(), [&](const std::string& arg) {
             const SignatureEntry* entry = graph.signature.FindPlaceholder(arg);
             return entry != nullptr && entry->kind == SignatureKind::kParameter;
           });
         });
}

// A table of a module that has parameters which no tensor of the file is, in a layout of the exporter's, picked from by
// a stored index: it is one of them.
bool IsFoldedTable(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (!IsResultName(tensor.name) || !IsFloating(tensor.dtype) || tensor.shape.rank() != 2) return false;
  return std::any_of(tensor.consumers.begin(), tensor.consumers.end(), [&](NodeId id_of_reader) {
    const Node& reader = graph.nodes[id_of_reader];
    return reader.op == "GatherND" && reader.inputs[0] == id && reader.inputs[1].valid() &&
           graph.tensors[reader.inputs[1]].role != TensorRole::kActivation && !reader.lost_parameter.empty();
  });
}

// Calls that give all or a part of what they are given, as it is.
constexpr auto kViewCalls = std::to_array<std::string_view>(
    {"expand", "reshape", "select", "slice", "squeeze", "t", "transpose", "unsqueeze", "view"});

// A view that the exporter computed, read in a module with a parameter that no tensor of the file is: it is that one.
// Not a bias for each head, [1, H, N, N], which was picked from a table (fuse/relative_bias.cc).
bool IsViewOfLostParameter(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const Dims& dims = tensor.shape.dims;
  if (std::find(kViewCalls.begin(), kViewCalls.end(), CallOf(tensor.name)) == kViewCalls.end()) return false;
  const bool by_head = dims.size() == 4 && dims[1] > 1 && dims[2] == dims[3];
  return !by_head && IsFloating(tensor.dtype) && !IsVector(tensor.shape) &&
         std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                     [&](NodeId reader) { return !graph.nodes[reader].lost_parameter.empty(); });
}

// Operators between the frequencies of a rotary or sinusoidal embedding and their sine: products with positions,
// layout.
constexpr auto kTowardsSine =
    std::to_array<std::string_view>({"Mul", "MatMul", "Einsum", "Cast", "Reshape", "Unsqueeze", "Squeeze", "Transpose",
                                     "Expand", "Concat", "Identity"});

// True if nothing but sines and cosines is made of the tensor: frequencies, a buffer whatever its name.
bool MakesOnlySines(const Graph& graph, TensorId id, int depth) {
  constexpr int kDeepest = 8;
  const NodeIds& readers = graph.tensors[id].consumers;
  return depth < kDeepest && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = graph.nodes[reader];
           if (node.op == "Shape" || node.op == "Sin" || node.op == "Cos") return true;
           if (node.outputs.empty() || !node.outputs[0].valid()) return false;
           return std::find(kTowardsSine.begin(), kTowardsSine.end(), node.op) != kTowardsSine.end() &&
                  MakesOnlySines(graph, node.outputs[0], depth + 1);
         });
}

// Scales of quantized tensors are numbers that nothing trains, whatever their shape. First slot that holds scales or
// zero points; a floating bias further on is read by no operator of the list.
constexpr std::array<WeightSlot, 4> kScaleSlots = {{
    {"QuantizeLinear", 1, 2},
    {"DequantizeLinear", 1, 2},
    {"MatMulNBits", 2, 3},
    {"MatMulBnb4", 2, 2},
}};

bool IsQuantizationScale(const Graph& graph, TensorId id) {
  const auto& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.nodes[reader];
    if (node.op.str().starts_with("QLinear")) return true;
    return std::any_of(kScaleSlots.begin(), kScaleSlots.end(), [&](const WeightSlot& slot) {
      return node.op == slot.op && InSlots(node, id, slot.first, slot.last);
    });
  });
}

// Operators between a mask stored as numbers and the comparison that makes it one (nanoGPT's lower triangle of ones).
constexpr auto kTowardsComparison = std::to_array<std::string_view>(
    {"Slice", "Reshape", "Unsqueeze", "Squeeze", "Transpose", "Expand", "Gather", "Cast", "Identity"});
constexpr auto kComparisons =
    std::to_array<std::string_view>({"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Not", "IsInf"});

// True if the tensor is only compared: it gets no gradient, so nothing trains it.
bool IsOnlyCompared(const Graph& graph, TensorId id, int depth) {
  constexpr int kDeepest = 8;
  const NodeIds& readers = graph.tensors[id].consumers;
  return depth < kDeepest && !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = graph.nodes[reader];
           if (node.op == "Shape" || std::find(kComparisons.begin(), kComparisons.end(), node.op) != kComparisons.end())
             return true;
           if (node.outputs.empty() || !node.outputs[0].valid()) return false;
           if (node.op == "Cast" && graph.tensors[node.outputs[0]].dtype == DType::kBool) return true;
           return std::find(kTowardsComparison.begin(), kTowardsComparison.end(), node.op) !=
                      kTowardsComparison.end() &&
                  node.inputs[0] == id && IsOnlyCompared(graph, node.outputs[0], depth + 1);
         });
}

// Numbers, lists of them, and words of Python: no value of the program.
bool IsSpelledOut(std::string_view argument) {
  if (argument == "None" || argument == "True" || argument == "False") return true;
  const bool is_list = argument.starts_with('[') || argument.starts_with('(');
  if (is_list) return !absl::StrContains(View(argument), "%");
  return argument.find_first_not_of("+-.0123456789e") == std::string_view::npos ||
         absl::StartsWith(View(argument), "torch.");
}

// True if the call of the framework that `node` became of reads an activation and nothing else that is computed or
// trained: what stands beside the activation is a buffer, a constant of the code, or what the exporter made up where
// the module has no parameter (the scale of BatchNorm2d(affine=False), torch_lib/ops/core.py aten_native_batch_norm).
bool CallReadsNoParameter(const Graph& graph, const Node& node) {
  if (graph.signature.empty()) return false;
  const FxCall call = FxCallOf(node);
  if (call.name.empty() || call.args.empty()) return false;
  const auto is_value = [&](std::string_view argument) {
    if (IsSpelledOut(argument)) return false;
    const SignatureEntry* entry = graph.signature.FindPlaceholder(argument);
    return entry == nullptr || entry->kind == SignatureKind::kParameter;
  };
  if (graph.signature.FindPlaceholder(call.args[0]) != nullptr) return false;
  return std::none_of(call.args.begin() + 1, call.args.end(), is_value);
}

// Of a dynamo export, whose every node carries its call.
bool NoReaderNamesParameter(const Graph& graph, TensorId id) {
  const NodeIds& readers = graph.tensors[id].consumers;
  return IsExporterName(graph.tensors[id].name) && !readers.empty() &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return CallReadsNoParameter(graph, graph.nodes[reader]); });
}

// CONSTANT_TENSOR of the exported program's signature: a tensor that the code made, which nothing registers.
bool IsConstantOfProgram(const Graph& graph, TensorId id) {
  const SignatureEntry* entry = graph.signature.FindTarget(graph.tensors[id].name);
  return entry != nullptr && entry->kind == SignatureKind::kConstant;
}

// An input of the graph, in another type or multiplied by a number of the code.
bool IsRawInput(const Graph& graph, TensorId id, int depth = 0) {
  constexpr int kDeepest = 4;
  const Tensor& tensor = graph.tensors[id];
  if (tensor.role == TensorRole::kInput) return true;
  if (!tensor.producer.valid() || depth == kDeepest) return false;
  const Node& maker = graph.nodes[tensor.producer];
  if (maker.op == "Cast") return IsRawInput(graph, maker.inputs[0], depth + 1);
  if (maker.op != "Mul" && maker.op != "Div") return false;
  return IsRawInput(graph, maker.inputs[0], depth + 1) && NumElements(graph.tensors[maker.inputs[1]].shape) == 1;
}

// (x - mean) of an input, of which the first operand is `id`'s counterpart.
bool IsCentered(const Graph& graph, TensorId id) {
  const NodeId producer = graph.tensors[id].producer;
  if (!producer.valid()) return false;
  const Node& maker = graph.nodes[producer];
  return maker.op == "Sub" && IsRawInput(graph, maker.inputs[0]) &&
         graph.tensors[maker.inputs[1]].role != TensorRole::kActivation;
}

// (x - mean) / std of what the model is fed: statistics of the data, which nobody trains. Sums are left out: positions
// that are learned are added to an input of features.
bool NormalisesInput(const Graph& graph, TensorId id) {
  const NodeIds& readers = graph.tensors[id].consumers;
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const Node& node = graph.nodes[reader];
    if (node.inputs.size() != 2 || node.inputs[1] != id || !node.inputs[0].valid()) return false;
    if (node.op == "Sub") return IsRawInput(graph, node.inputs[0]);
    if (node.op == "Div") return IsRawInput(graph, node.inputs[0]) || IsCentered(graph, node.inputs[0]);
    return node.op == "Mul" && IsCentered(graph, node.inputs[0]);
  });
}

}  // namespace

bool IsLayerWeight(const Graph& graph, TensorId id) {
  for (NodeId reader : graph.tensors[id].consumers) {
    const Node& node = graph.nodes[reader];
    for (const WeightSlot& slot : kWeightSlots) {
      if (node.op == slot.op && InSlots(node, id, slot.first, slot.last)) return true;
    }
  }
  return false;
}

bool IsFoldedOperand(std::string_view name, std::string_view op) {
  constexpr std::string_view kPrefix = "onnx::";
  if (!absl::StartsWith(View(name), View(kPrefix))) return false;
  name.remove_prefix(kPrefix.size());
  const size_t underscore = name.rfind('_');
  return underscore != std::string_view::npos && name.substr(0, underscore) == op;
}

std::string_view FoldedCall(std::string_view name) {
  const auto* row = std::find(kFoldedCalls.begin(), kFoldedCalls.end(), CallOf(name));
  return row != kFoldedCalls.end() ? *row : std::string_view();
}

bool IsArgumentOfCall(const Node& node, std::string_view name) {
  const std::vector<std::string> args = FxCallOf(node).args;
  return std::find(args.begin(), args.end(), name) != args.end();
}

bool IsFoldedBias(const Draft& draft, TensorId id) {
  return IsFoldedOperand(draft.tensor(id).name, "Conv") || draft.ProducerIf(id, "full").valid();
}

TensorKind KindOfStored(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (const SignatureEntry* told = ToldBySignature(graph, tensor)) {
    if (told->kind == SignatureKind::kBuffer) return TensorKind::kBuffer;
    if (told->kind == SignatureKind::kParameter && IsFloating(tensor.dtype)) return TensorKind::kParameter;
  }
  if (IsFoldedTable(graph, id) || IsViewOfLostParameter(graph, id)) return TensorKind::kParameter;
  if (IsQuantizedWeight(graph, id)) return TensorKind::kParameter;
  if (!IsFloating(tensor.dtype) || IsInBufferSlot(graph, id) || IsQuantizationScale(graph, id)) {
    return TensorKind::kBuffer;
  }
  if (IsConstantOfProgram(graph, id) || NoReaderNamesParameter(graph, id)) return TensorKind::kBuffer;
  // torch.onnx stores every parameter as an initializer: its Constant nodes, which it names itself, are tensors that
  // the code makes (a matrix of a transform, the scale that a norm without parameters is given).
  if (tensor.role == TensorRole::kConstant && IsExporterName(tensor.name)) return TensorKind::kBuffer;
  if (IsLayerWeight(graph, id)) return TensorKind::kParameter;
  if (tensor.role != TensorRole::kInitializer || NormalisesInput(graph, id)) return TensorKind::kBuffer;
  if (IsResultName(tensor.name) && IsRelativeTable(graph, id)) return TensorKind::kParameter;
  if (IsResultOfCall(graph, id) && (!IsVector(tensor.shape) || IsConvertedConstant(graph, id)))
    return TensorKind::kBuffer;
  if (std::find(kTableCalls.begin(), kTableCalls.end(), CallOf(tensor.name)) != kTableCalls.end())
    return TensorKind::kBuffer;
  if (HasBufferName(tensor.name) || IsFoldedExpression(tensor) || IsNumberOfCode(graph, id)) return TensorKind::kBuffer;
  if (MakesOnlySines(graph, id, 0) || IsOnlyCompared(graph, id, 0)) return TensorKind::kBuffer;
  return TensorKind::kParameter;
}

}  // namespace onnx_mem
