// THE table from ONNX operators to framework operators: one row per operator, for all opset versions.
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_TABLE_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_TABLE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

class Site;

// What an input slot of an ONNX operator takes.
enum class SlotKind : uint8_t {
  kDevice,     // a tensor, or one number
  kHost,       // shapes, axes, sizes: Python numbers
  kShapeOnly,  // only the shape of the tensor, which is not read
};

struct Slots {
  uint32_t host = 0;        // bit i: input i takes host values
  uint32_t shape_only = 0;  // bit i: only the shape of input i matters

  constexpr SlotKind kind(size_t i) const {
    const uint32_t bit = 1u << (i < 31 ? i : 31);
    if ((host & bit) != 0) return SlotKind::kHost;
    return (shape_only & bit) != 0 ? SlotKind::kShapeOnly : SlotKind::kDevice;
  }
};

using LowerFn = void (*)(Site& site);

struct TableRow {
  std::string_view domain;  // "" is ai.onnx
  std::string_view onnx;
  LowerFn lower;
  std::string_view framework = {};  // the framework operator, where the row's function needs to be told
  Slots slots = {};
};

// The row of `node`'s operator; null for an operator that the table does not know.
const TableRow* FindRow(const Node& node);

// All rows, for the coverage that `check` prints.
std::span<const TableRow> AllRows();

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_TABLE_H_
