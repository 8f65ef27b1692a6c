#include "analyzer/assume/choices/unread_buffers.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/graph/shape.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

constexpr int64_t kIndexBytes = 8;
constexpr int64_t kNumberBytes = 4;
// onnxscript/optimizer/_constant_folding.py, DEFAULT_CONSTANT_FOLD_INPUT_SIZE_LIMIT: what reads more stays in the file.
constexpr int64_t kMostFoldedElements = 8192;
// Nothing bounds a table that no operator reads. As long as that of PyTorch's tutorial of the Transformer, max_len.
constexpr int64_t kMostPositions = 5000;

// Where the index of a table comes from.
enum class IndexSource : uint8_t { kInput, kStored, kComputed };

bool KeepsIndex(const OpName& op) {
  return IsView(op) || IsCopy(op) || IsArithmetic(op) || op == "remainder_scalar" || op == "clamp" || op == "cat" ||
         op == "stack";
}

// By views and arithmetic alone: what offsets are added to is still an input. What is compared or counted is computed.
IndexSource SourceOfIndex(const Lowered& lowered, TensorId id, int depth = 0) {
  constexpr int kDeepest = 12;
  const FrameworkGraph& graph = lowered.graph;
  const Tensor& tensor = graph.tensors[id];
  if (tensor.role == TensorRole::kInput) return IndexSource::kInput;
  if (!tensor.producer.valid())
    return lowered.kinds[id] == TensorKind::kBuffer ? IndexSource::kStored : IndexSource::kComputed;
  const FrameworkNode& maker = graph.nodes[tensor.producer];
  if (depth == kDeepest || !KeepsIndex(maker.op)) return IndexSource::kComputed;
  IndexSource source = IndexSource::kComputed;
  for (TensorId operand : maker.inputs) {
    if (!operand.valid()) continue;
    const IndexSource one = SourceOfIndex(lowered, operand, depth + 1);
    if (one == IndexSource::kInput) return one;
    if (one == IndexSource::kStored) source = one;
  }
  return source;
}

// Rows of the table that `node` picks from by what is no input of the model; 0 where it is none.
int64_t RowsOfPositions(const Lowered& lowered, const FrameworkNode& node, bool stored_too) {
  if (node.op != "embedding" || node.inputs.size() < 2 || !node.inputs[1].valid()) return 0;
  const Shape& table = lowered.graph.tensors[node.inputs[0]].shape;
  if (lowered.kinds[node.inputs[0]] != TensorKind::kParameter || table.rank() != 2) return 0;
  const IndexSource source = SourceOfIndex(lowered, node.inputs[1]);
  if (source == IndexSource::kInput || (source == IndexSource::kStored && !stored_too)) return 0;
  return table.dims[0];
}

// What the exporter computed.
struct Computed {
  bool integers = false;  // which stand for the index that they were computed of
  int64_t longest_row = 1;
  int64_t longest_index = 0;   // of integers, along any dimension; 0: there are none
  int64_t largest_square = 0;  // of the last two dimensions
  int64_t rows = 0;            // at most, of a table of positions of which it took some
};

// An index of several dimensions at once ends in a dimension for them: [32, 1] of one (onnxscript's torch_lib,
// aten_index).
int64_t LongestOf(const Dims& dims) { return dims.empty() ? 1 : *std::max_element(dims.begin(), dims.end()); }

Computed FindComputed(const ProgramSignature& signature, const Lowered& lowered) {
  Computed computed;
  const FrameworkGraph& graph = lowered.graph;
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    const bool is_stored = lowered.kinds[id] == TensorKind::kBuffer || lowered.kinds[id] == TensorKind::kParameter;
    if (!is_stored || tensor.producer.valid() || tensor.shape.dims.empty()) continue;
    if (signature.FindTarget(tensor.name) != nullptr) continue;
    const int64_t row = std::max<int64_t>(1, tensor.shape.dims.back());
    if (tensor.name.starts_with("embedding")) computed.rows = std::max(computed.rows, kMostFoldedElements / row);
    if (lowered.kinds[id] == TensorKind::kParameter) continue;
    computed.longest_row = std::max(computed.longest_row, row);
    const size_t rank = tensor.shape.dims.size();
    if (rank > 1) computed.largest_square = std::max(computed.largest_square, row * tensor.shape.dims[rank - 2]);
    const int64_t longest = LongestOf(tensor.shape.dims);
    if (tensor.dtype != DType::kInt64 || longest < 2) continue;
    computed.integers = true;
    computed.longest_index = std::max(computed.longest_index, std::min(longest, kMostFoldedElements));
  }
  computed.longest_row = std::min(computed.longest_row, kMostFoldedElements);
  computed.largest_square = std::min(computed.largest_square, kMostFoldedElements);
  return computed;
}

// How wide the model is: the longest row of what norms scale and of tables that are picked from.
int64_t WidthOfModel(const Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  int64_t width = 1;
  for (const FrameworkNode& node : graph.nodes) {
    const bool picks = node.op == "embedding" && lowered.kinds[node.inputs[0]] == TensorKind::kParameter;
    if (!picks && node.op != "layer_norm") continue;
    const Shape& shape = graph.tensors[picks ? node.inputs[0] : node.outputs[0]].shape;
    if (!shape.dims.empty()) width = std::max(width, shape.dims.back());
  }
  return width;
}

// "cached_freqs", "pe", "cos_cached": of positions, a row each.
bool IsTableOfPositions(std::string_view name) {
  constexpr auto kTables =
      std::to_array<std::string_view>({"pe", "freqs", "cos", "sin", "cached", "embed", "embeddings"});
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return std::any_of(kTables.begin(), kTables.end(), [&](std::string_view word) {
    return last == word || last.ends_with(std::string("_").append(word)) || last.starts_with(std::string(word) + "_");
  });
}

// A buffer of a module that is handed to others has a name in each: `name` is one behind the first.
bool IsHandedOn(std::string_view name, const std::vector<std::string>& all) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& other) {
    return other.size() < name.size() && name.ends_with(std::string(".").append(other));
  });
}

bool EndsWithAny(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

int64_t MostBytesOfBuffers(const std::vector<std::string>& names, const ProgramSignature& signature,
                           const Lowered& lowered) {
  const Computed computed = FindComputed(signature, lowered);
  int64_t table = 0;
  for (const FrameworkNode& node : lowered.graph.nodes) table = std::max(table, RowsOfPositions(lowered, node, true));
  const int64_t rows = std::max(table, computed.rows);
  const int64_t positions = kMostPositions * std::max(WidthOfModel(lowered), computed.longest_row);
  int64_t bytes = 0;
  for (const std::string& name : names) {
    if (IsTableOfPositions(name)) {
      if (!IsHandedOn(name, names)) bytes += kNumberBytes * positions;
    } else if (EndsWithAny(name, {"ids", "positions"})) {
      bytes += kIndexBytes * std::max(rows, computed.longest_row);
    } else if (EndsWithAny(name, {"index", "indices"})) {
      if (!computed.integers) bytes += kIndexBytes * computed.largest_square;
    } else if (EndsWithAny(name, {"mask", "bias", "tril", "triu"})) {
      bytes += kNumberBytes * (table > 0 ? table * table : kMostFoldedElements);
    } else {
      bytes += std::max(kNumberBytes * computed.longest_row, kIndexBytes * computed.longest_index);
    }
  }
  return bytes;
}

bool PicksPositions(const Lowered& lowered, const FrameworkNode& node) {
  return RowsOfPositions(lowered, node, /*stored_too=*/true) > 0;
}

int64_t MostBytesOfPositions(const Lowered& lowered) {
  int64_t rows = 0;
  for (const FrameworkNode& node : lowered.graph.nodes) rows += RowsOfPositions(lowered, node, false);
  return kIndexBytes * rows;
}

}  // namespace onnx_mem
