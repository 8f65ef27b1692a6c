#include "analyzer/onnx/tied_weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/tied_weight_mark.h"
#include "analyzer/onnx/tensor_literal.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

constexpr int64_t kSmallestTable = 4096;  // elements; below, a coincidence costs nothing either

// Where a tensor's elements lie, row after row.
struct Payload {
  ByteWindow* file = nullptr;
  int64_t begin = 0;
  int64_t bytes = 0;
};

// Walks the fields of one protobuf message; the file has been read once without complaint.
class Fields {
 public:
  Fields(ByteWindow& bytes, int64_t begin, int64_t end) : bytes_(bytes), at_(begin), end_(end) {}
  bool Next() {
    uint64_t tag = 0, length = 0;
    if (at_ >= end_ || !Varint(tag)) return false;
    number = static_cast<int>(tag >> 3);
    is_bytes = (tag & 7) == 2;
    switch (tag & 7) {
      case 0: begin = at_; return Varint(length) && ((end = at_) <= end_);
      case 1: length = 8; break;
      case 5: length = 4; break;
      case 2:
        if (!Varint(length)) return false;
        break;
      default: return false;
    }
    if (length > static_cast<uint64_t>(end_ - at_)) return false;
    begin = at_;
    end = at_ = at_ + static_cast<int64_t>(length);
    return true;
  }
  int number = 0;
  bool is_bytes = false;
  int64_t begin = 0, end = 0;

 private:
  bool Varint(uint64_t& value) {
    const std::string_view bytes = bytes_.At(at_, static_cast<size_t>(std::min<int64_t>(10, end_ - at_)));
    value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        at_ += static_cast<int64_t>(i) + 1;
        return true;
      }
    }
    return false;
  }
  ByteWindow& bytes_;
  int64_t at_, end_;
};

// raw_data or packed float_data of the initializers called `names`.
std::map<std::string, Payload> InlinePayloads(ByteWindow& bytes, const std::set<std::string>& names) {
  constexpr int kGraph = 7, kInitializer = 5, kName = 8, kRawData = 9, kFloatData = 4;
  std::map<std::string, Payload> payloads;
  Fields model(bytes, 0, bytes.size());
  while (model.Next()) {
    if (model.number != kGraph || !model.is_bytes) continue;
    Fields graph(bytes, model.begin, model.end);
    while (graph.Next()) {
      if (graph.number != kInitializer || !graph.is_bytes) continue;
      std::string name;
      Payload payload{&bytes};
      Fields tensor(bytes, graph.begin, graph.end);
      while (tensor.Next()) {
        const int64_t size = tensor.end - tensor.begin;
        if (tensor.number == kName) name = std::string(bytes.At(tensor.begin, static_cast<size_t>(size)));
        const bool data = tensor.number == kRawData || (tensor.number == kFloatData && tensor.is_bytes);
        if (data) payload = {&bytes, tensor.begin, size};
      }
      if (payload.bytes > 0 && names.contains(name)) payloads.emplace(name, payload);
    }
  }
  return payloads;
}

// Files beside the model that hold weights, opened once. Names that lead out of the model's folder are not followed.
class Beside {
 public:
  explicit Beside(const std::string& path) {
    if (const size_t slash = path.rfind('/'); slash != std::string::npos) folder_ = path.substr(0, slash + 1);
  }
  std::optional<Payload> Find(const onnx::TensorProto& tensor, int64_t bytes) {
    std::string location;
    int64_t offset = 0;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() == "offset" && !absl::SimpleAtoi(entry.value(), &offset)) return std::nullopt;
    }
    if (location.empty() || location.front() == '/' || offset < 0) return std::nullopt;
    for (absl::string_view part : absl::StrSplit(location, '/')) {
      if (part == "..") return std::nullopt;
    }
    auto it = files_.find(location);
    if (it == files_.end()) {
      auto window = ByteWindow::OverFile(folder_ + location);
      it = files_.emplace(location, window.ok() ? std::make_unique<ByteWindow>(*std::move(window)) : nullptr).first;
    }
    if (it->second == nullptr || bytes > it->second->size() || offset > it->second->size() - bytes) return std::nullopt;
    return Payload{it->second.get(), offset, bytes};
  }

 private:
  std::string folder_;
  std::map<std::string, std::unique_ptr<ByteWindow>> files_;
};

std::optional<uint64_t> ElementAt(const Payload& payload, int64_t index, int64_t width) {
  const std::string_view bytes = payload.file->At(payload.begin + index * width, static_cast<size_t>(width));
  if (bytes.size() != static_cast<size_t>(width)) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

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

struct Pair {
  Weight table, other;
};

bool SameShape(const Weight& a, const Weight& b) { return a.rows == b.rows && a.columns == b.columns; }
bool SwappedShape(const Weight& a, const Weight& b) { return a.rows == b.columns && a.columns == b.rows; }

// Embedding tables, each with every other matrix that may be its copy.
std::vector<Pair> Candidates(const onnx::GraphProto& graph) {
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
  std::vector<Pair> pairs;
  for (const Weight& table : tables) {
    for (const Weight& other : others) {
      if (table.type == other.type && (SameShape(table, other) || SwappedShape(table, other))) pairs.push_back({table, other});
    }
  }
  return pairs;
}

void Replace(onnx::GraphProto& graph, const Pair& pair, bool transposed) {
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

void MarkAsOwn(onnx::GraphProto& graph, const std::string& weight) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (std::find(node.input().begin(), node.input().end(), weight) == node.input().end()) continue;
    onnx::StringStringEntryProto& mark = *node.add_metadata_props();
    mark.set_key(std::string(kOwnWeight));
    mark.set_value(weight);
  }
}

}  // namespace

int64_t JoinTiedWeights(onnx::ModelProto& model, ByteWindow& bytes, const std::string& path) {
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::vector<Pair> pairs = Candidates(graph);
  if (pairs.empty()) return 0;
  std::set<std::string> names;
  for (const Pair& pair : pairs) names.insert({pair.table.name, pair.other.name});
  std::map<std::string, Payload> payloads = InlinePayloads(bytes, names);
  Beside beside(path);
  for (const auto& tensor : graph.initializer()) {
    if (!names.contains(tensor.name()) || tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    const std::optional<Weight> weight = MatrixOf(tensor);
    if (const auto found = beside.Find(tensor, weight->rows * weight->columns * weight->width)) {
      payloads[tensor.name()] = *found;
    }
  }
  std::set<std::string> joined;
  for (const Pair& pair : pairs) {
    const auto a = payloads.find(pair.table.name), b = payloads.find(pair.other.name);
    if (a == payloads.end() || b == payloads.end() || joined.contains(pair.other.name)) continue;
    const int64_t size = pair.table.rows * pair.table.columns * pair.table.width;
    if (a->second.bytes != size || b->second.bytes != size) continue;
    const auto equal = [&](bool transposed) {
      return Equal(a->second, b->second, pair.table.rows, pair.table.columns, pair.table.width, transposed);
    };
    const std::optional<bool> same = SameShape(pair.table, pair.other) ? equal(false) : std::optional<bool>(false);
    const std::optional<bool> swapped = SwappedShape(pair.table, pair.other) ? equal(true) : std::optional<bool>(false);
    if (same.value_or(false) || swapped.value_or(false)) {
      Replace(graph, pair, !same.value_or(false));
      joined.insert(pair.other.name);
    } else if (same && swapped) {
      MarkAsOwn(graph, pair.other.name);
    }
  }
  return static_cast<int64_t>(joined.size());
}

}  // namespace onnx_mem
