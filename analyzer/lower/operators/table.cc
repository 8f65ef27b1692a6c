#include "analyzer/lower/operators/table.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analyzer/lower/operators/ops.h"

namespace onnx_mem {
namespace {

constexpr uint32_t Bit(int slot) { return 1u << slot; }

constexpr Needs Unversioned(int first) {
  Needs needs(first);
  needs.versioned = false;
  return needs;
}

constexpr auto kRows = std::to_array<TableRow>({
#define ROW(...) {__VA_ARGS__},
#include "analyzer/lower/operators/table.inc"
#undef ROW
});

struct Key {
  absl::string_view domain;
  OpName op;
  friend bool operator==(const Key&, const Key&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Key& key) {
    return H::combine(std::move(h), key.domain, key.op);
  }
};

absl::flat_hash_map<Key, const TableRow*> BuildIndex() {
  absl::flat_hash_map<Key, const TableRow*> index;
  for (const TableRow& row : kRows) {
    index.emplace(Key{{row.domain.data(), row.domain.size()}, row.onnx}, &row);
  }
  return index;
}

}  // namespace

const TableRow* FindRow(const Node& node) {
  static const auto& index = *new absl::flat_hash_map<Key, const TableRow*>(BuildIndex());
  const std::string_view domain = node.domain == "ai.onnx" ? std::string_view() : std::string_view(node.domain);
  auto it = index.find(Key{{domain.data(), domain.size()}, node.op});
  return it == index.end() ? nullptr : it->second;
}

int MissingInput(const TableRow& row, const Node& node) {
  for (int i = 0; row.needs.inputs >> i != 0; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool there = at < node.inputs.size() && node.inputs[at].valid();
    if ((row.needs.inputs & Bit(i)) != 0 && !there) return i;
  }
  return -1;
}

bool IsInOpset(const TableRow& row, const Node& node, const Graph& graph) {
  return !row.domain.empty() || !row.needs.versioned || graph.opset == 0 || node.since_version > 0;
}

std::span<const TableRow> AllRows() { return kRows; }

}  // namespace onnx_mem
