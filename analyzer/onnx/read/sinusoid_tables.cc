#include "analyzer/onnx/read/sinusoid_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/casts.h"
#include "analyzer/onnx/read/stored_bytes.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

struct FloatTable {
  std::string name;
  int64_t rows = 0, columns = 0;
};

// A float table [N, D], ones ahead of it left out, large enough that a coincidence is none.
std::optional<FloatTable> TableOf(const onnx::TensorProto& tensor) {
  constexpr int64_t kFewestRows = 4, kFewestColumns = 8;
  if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() < 2) return std::nullopt;
  const int n = tensor.dims_size();
  for (int i = 0; i < n - 2; ++i) {
    if (tensor.dims(i) != 1) return std::nullopt;
  }
  const FloatTable table{tensor.name(), tensor.dims(n - 2), tensor.dims(n - 1)};
  return table.rows < kFewestRows || table.columns < kFewestColumns || table.columns % 2 != 0 ? std::nullopt
                                                                                              : std::optional(table);
}

// The column of the cosine that belongs to column `i`'s sine; -1 where `i` is none's.
int64_t CosineOf(int64_t i, int64_t columns, int order) {
  const int64_t half = columns / 2, quarter = columns / 4;
  switch (order) {
    case 0: return i < half ? i + half : -1;
    case 1: return i % 2 == 0 ? i + 1 : -1;
    default: return i % half < quarter && columns % 4 == 0 ? i + quarter : -1;
  }
}

bool IsOnCircle(const std::vector<float>& row, int order) {
  constexpr float kTolerance = 1e-4F;
  const auto columns = static_cast<int64_t>(row.size());
  int64_t pairs = 0;
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t j = CosineOf(i, columns, order);
    if (j < 0) continue;
    const float x = row[static_cast<size_t>(i)], y = row[static_cast<size_t>(j)];
    if (!(std::abs(x * x + y * y - 1.0F) < kTolerance)) return false;
    ++pairs;
  }
  return pairs > 0;
}

bool IsZero(const std::vector<float>& row) {
  return std::all_of(row.begin(), row.end(), [](float x) { return x == 0.0F; });
}

std::vector<float> RowOf(const Payload& payload, int64_t row, int64_t columns) {
  std::vector<float> values;
  for (int64_t i = 0; i < columns; ++i) {
    const std::optional<uint64_t> bits = ElementAt(payload, row * columns + i, sizeof(float));
    if (!bits) return {};
    values.push_back(absl::bit_cast<float>(static_cast<uint32_t>(*bits)));
  }
  return values;
}

// All sampled rows lie on the circle, in the same order; the first and one more (a padding's) may be zero.
bool HoldsSinusoids(const Payload& payload, const FloatTable& table) {
  constexpr int64_t kMostRows = 16;
  int64_t zero = 0;
  std::array<bool, 3> possible = {true, true, true};
  std::set<std::vector<float>> seen;
  for (int64_t sample = 0; sample < std::min(kMostRows, table.rows); ++sample) {
    const std::vector<float> row = RowOf(payload, sample * table.rows / std::min(kMostRows, table.rows), table.columns);
    if (row.empty()) return false;
    seen.insert(row);
    if (IsZero(row)) {
      ++zero;
      continue;
    }
    for (int order = 0; order < 3; ++order) possible[static_cast<size_t>(order)] &= IsOnCircle(row, order);
    if (std::find(possible.begin(), possible.end(), true) == possible.end()) return false;
  }
  return zero <= 2 && seen.size() > 3;
}

}  // namespace

void FindSinusoidTables(const onnx::ModelProto& model, ByteWindow& bytes, const std::string& path, SeenContents& seen) {
  const onnx::GraphProto& graph = model.graph();
  // Weights of layers are read by other operators, and there are many of them.
  constexpr auto kReaders =
      std::to_array<std::string_view>({"Add", "Gather", "Slice", "Unsqueeze", "Expand", "Identity"});
  std::set<std::string> looked_up;
  for (const auto& node : graph.node()) {
    if (std::find(kReaders.begin(), kReaders.end(), node.op_type()) == kReaders.end()) continue;
    looked_up.insert(node.input().begin(), node.input().end());
  }
  std::vector<FloatTable> tables;
  std::set<std::string> names;
  for (const auto& tensor : graph.initializer()) {
    const std::optional<FloatTable> table = looked_up.contains(tensor.name()) ? TableOf(tensor) : std::nullopt;
    if (!table) continue;
    tables.push_back(*table);
    names.insert(table->name);
  }
  if (tables.empty()) return;
  const StoredBytes stored(graph, names, bytes, path);
  for (const FloatTable& table : tables) {
    const Payload* payload = stored.Find(table.name);
    if (payload != nullptr && HoldsSinusoids(*payload, table)) seen.insert_or_assign(table.name, Contents::kSinusoids);
  }
}

}  // namespace onnx_mem
