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
  if (CallInName(name) == "embedding" || graph.signature.empty()) return false;
  if (graph.signature.FindTarget(name) != nullptr) return false;
  const NodeIds& readers = graph.tensors[id].consumers;
  return std::any_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return IsArgumentOfCall(graph.nodes[reader], name); });
}

// What a change of type gave, in a program that has a tensor of the code which is not in the file: made of that.
// "type_as" of the mean of the data, which SwinIR takes off its input and adds to its output.
bool IsConvertedConstant(const Graph& graph, TensorId id) {
  if (!NamesConversion(graph.tensors[id].name)) return false;
  const auto is_stored = [&](const std::string& name) {
    return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                       [&](TensorId stored) { return graph.tensors[stored].name == name; });
  };
  const std::vector<SignatureEntry>& entries = graph.signature.entries();
  return std::any_of(entries.begin(), entries.end(), [&](const SignatureEntry& entry) {
    return entry.kind == SignatureKind::kConstant && !is_stored(entry.target);
  });
}

// Stored, or a change of layout of what is.
bool IsStoredThroughLayout(const Graph& graph, TensorId id) {
  constexpr int kMostChanges = 4;
  constexpr auto kLayout =
      std::to_array<std::string_view>({"Unsqueeze", "Reshape", "Transpose", "Squeeze", "Expand", "Cast"});
  for (int i = 0; i <= kMostChanges && id.valid(); ++i) {
    if (graph.tensors[id].role != TensorRole::kActivation) return true;
    const Node* maker = graph.MakerOf(id);
    if (maker == nullptr || std::find(kLayout.begin(), kLayout.end(), maker->op) == kLayout.end()) return false;
    id = maker->inputs[0];
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
const SignatureEntry* ListedBySignature(const Graph& graph, const Tensor& tensor) {
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

// Where every parameter that the signature lists is a stored tensor of its own name, what is stored beside them was
// made of buffers and numbers of the code, whatever its shape: offsets that the code adds to an index.
bool IsBesideAllParameters(const Graph& graph, TensorId id) {
  if (graph.signature.empty() || graph.signature.FindTarget(graph.tensors[id].name) != nullptr) return false;
  const auto is_parameter = [](const SignatureEntry* entry) {
    return entry != nullptr && entry->kind == SignatureKind::kParameter;
  };
  const auto stored = std::count_if(graph.initializers.begin(), graph.initializers.end(), [&](TensorId initializer) {
    return is_parameter(graph.signature.FindTarget(graph.tensors[initializer].name));
  });
  const std::vector<SignatureEntry>& entries = graph.signature.entries();
  return stored > 0 && stored == std::count_if(entries.begin(), entries.end(),
                                               [&](const SignatureEntry& entry) { return is_parameter(&entry); });
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

// A view that the exporter computed, read in a module with a parameter that no tensor of the file is: it is that one.
// Not a bias for each head, [1, H, N, N], which was picked from a table (fuse/relative_bias.cc).
bool IsViewOfLostParameter(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  const Dims& dims = tensor.shape.dims;
  if (!NamesView(tensor.name)) return false;
  const bool by_head = dims.size() == 4 && dims[1] > 1 && dims[2] == dims[3];
  return !by_head && IsFloating(tensor.dtype) && !IsVector(tensor.shape) &&
         std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                     [&](NodeId reader) { return !graph.nodes[reader].lost_parameter.empty(); });
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

bool IsArgumentOfCall(const Node& node, std::string_view name) {
  const std::vector<std::string> args = FxCallOf(node).args;
  return std::find(args.begin(), args.end(), name) != args.end();
}

bool IsFoldedBias(const Draft& draft, TensorId id) {
  return IsFoldedOperand(draft.tensor(id).name, "Conv") || draft.ProducerIf(id, "full").valid();
}

TensorKind KindOfStored(const Graph& graph, TensorId id) {
  const Tensor& tensor = graph.tensors[id];
  if (const SignatureEntry* reported = ListedBySignature(graph, tensor)) {
    if (reported->kind == SignatureKind::kBuffer) return TensorKind::kBuffer;
    if (reported->kind == SignatureKind::kParameter && IsFloating(tensor.dtype)) return TensorKind::kParameter;
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
  if (tensor.role != TensorRole::kInitializer) return TensorKind::kBuffer;
  if (IsResultName(tensor.name) && IsRelativeTable(graph, id)) return TensorKind::kParameter;
  if (IsResultOfCall(graph, id) && (!IsVector(tensor.shape) || IsConvertedConstant(graph, id)))
    return TensorKind::kBuffer;
  if (NamesTable(tensor.name) || HasBufferName(tensor.name)) return TensorKind::kBuffer;
  if (IsFoldedExpression(tensor) || IsNumberOfCode(graph, id)) return TensorKind::kBuffer;
  if (IsBesideAllParameters(graph, id)) return TensorKind::kBuffer;
  if (MakesOnlySines(graph, id) || IsOnlyCompared(graph, id)) return TensorKind::kBuffer;
  return TensorKind::kParameter;
}

}  // namespace onnx_mem
