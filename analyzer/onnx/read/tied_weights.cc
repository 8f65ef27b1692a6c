#include "analyzer/onnx/read/tied_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/onnx/read/stored_bytes.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

constexpr int64_t kSmallestTable = 4096;  // elements; below, a coincidence costs nothing either

// Whether b is a, or its transpose, at sampled places of a [rows, columns]. nullopt: unreadable, or a's numbers are so
// few that equality says nothing.
std::optional<bool> Equal(const Payload& a, const Payload& b, int64_t rows, int64_t columns, int64_t width,
                          bool transposed) {
  constexpr int kSamples = 512;
  constexpr size_t kFewNumbers = 16;
  std::set<uint64_t> numbers;
  uint64_t random = 1;
  for (int i = 0; i < kSamples; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto index = static_cast<int64_t>((random >> 16) % static_cast<uint64_t>(rows * columns));
    const int64_t row = index / columns, column = index % columns;
    const auto x = ElementAt(a, index, width), y = ElementAt(b, transposed ? column * rows + row : index, width);
    if (!x || !y) return std::nullopt;
    if (*x != *y) return false;
    numbers.insert(*x);
  }
  if (numbers.size() < kFewNumbers) return std::nullopt;
  return true;
}

struct Weight {
  std::string name;
  int64_t rows = 0, columns = 0;
  int64_t width = 0;  // bytes of an element
  int type = 0;
};

std::optional<Weight> MatrixOf(const onnx::TensorProto& tensor) {
  const DType dtype = DTypeOf(tensor.data_type());
  if (tensor.dims_size() != 2 || !IsFloating(dtype) || RowOf(dtype).bits % 8 != 0) return std::nullopt;
  const int64_t rows = tensor.dims(0), columns = tensor.dims(1);
  constexpr int64_t kLargestSide = int64_t{1} << 31;
  if (rows <= 0 || columns <= 0 || rows > kLargestSide || columns > kLargestSide) return std::nullopt;
  if (rows * columns < kSmallestTable) return std::nullopt;
  return Weight{tensor.name(), rows, columns, RowOf(dtype).bits / 8, tensor.data_type()};
}

struct TiedPair {
  Weight table, other;
};

bool SameShape(const Weight& a, const Weight& b) { return a.rows == b.rows && a.columns == b.columns; }
bool SwappedShape(const Weight& a, const Weight& b) { return a.rows == b.columns && a.columns == b.rows; }

// Embedding tables, each with every other matrix that may be its copy.
std::vector<TiedPair> Candidates(const onnx::GraphProto& graph) {
  std::set<std::string> fed, looked_up;
  for (const auto& input : graph.input()) fed.insert(input.name());
  for (const auto& node : graph.node()) {
    if (node.op_type() == "Gather" && node.input_size() > 0) looked_up.insert(node.input(0));
  }
  std::vector<Weight> tables, others;
  for (const auto& tensor : graph.initializer()) {
    const std::optional<Weight> weight = MatrixOf(tensor);
    if (!weight || fed.contains(weight->name)) continue;
    (looked_up.contains(weight->name) ? tables : others).push_back(*weight);
  }
  std::vector<TiedPair> pairs;
  for (const Weight& table : tables) {
    for (const Weight& other : others) {
      if (table.type == other.type && (SameShape(table, other) || SwappedShape(table, other)))
        pairs.push_back({table, other});
    }
  }
  return pairs;
}

void Replace(onnx::GraphProto& graph, const TiedPair& pair, bool transposed) {
  auto& initializers = *graph.mutable_initializer();
  for (int i = 0; i < initializers.size(); ++i) {
    if (initializers[i].name() == pair.other.name) {
      initializers.DeleteSubrange(i, 1);
      break;
    }
  }
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(transposed ? "Transpose" : "Identity");
  node.add_input(pair.table.name);
  node.add_output(pair.other.name);
  if (transposed) {
    onnx::AttributeProto& perm = *node.add_attribute();
    perm.set_name("perm");
    perm.set_type(onnx::AttributeProto::INTS);
    perm.add_ints(1);
    perm.add_ints(0);
  }
  for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
}

}  // namespace

int64_t JoinTiedWeights(onnx::ModelProto& model, ByteWindow& bytes, const std::string& path, SeenContents& seen) {
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::vector<TiedPair> pairs = Candidates(graph);
  if (pairs.empty()) return 0;
  std::set<std::string> names;
  for (const TiedPair& pair : pairs) names.insert({pair.table.name, pair.other.name});
  const StoredBytes stored(graph, names, bytes, path);
  std::set<std::string> joined;
  for (const TiedPair& pair : pairs) {
    const Payload *a = stored.Find(pair.table.name), *b = stored.Find(pair.other.name);
    if (a == nullptr || b == nullptr || joined.contains(pair.other.name)) continue;
    const auto equal = [&](bool transposed) {
      return Equal(*a, *b, pair.table.rows, pair.table.columns, pair.table.width, transposed);
    };
    const std::optional<bool> same = SameShape(pair.table, pair.other) ? equal(false) : std::optional<bool>(false);
    const std::optional<bool> swapped = SwappedShape(pair.table, pair.other) ? equal(true) : std::optional<bool>(false);
    if (same.value_or(false) || swapped.value_or(false)) {
      Replace(graph, pair, !same.value_or(false));
      joined.insert(pair.other.name);
    } else if (same && swapped) {
      seen.emplace(pair.other.name, Contents::kNoEmbedding);
    }
  }
  return static_cast<int64_t>(joined.size());
}

}  // namespace onnx_mem
