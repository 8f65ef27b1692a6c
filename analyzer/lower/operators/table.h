// THE table from ONNX operators to framework operators: one row per operator, for all opset versions.
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_TABLE_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_TABLE_H_

#include <cstdint>
#include <initializer_list>
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

// The inputs without which an operator is none, and whether a version of the standard says what it is.
struct Needs {
  uint32_t inputs = 0;    // bit i: input i is there
  bool versioned = true;  // false: an operator that the standard never had, or only before it had versions
  constexpr Needs(int first) : inputs((1u << first) - 1) {}  // NOLINT(google-explicit-constructor): rows say a number
  constexpr Needs(std::initializer_list<int> slots) {
    for (int slot : slots) inputs |= 1u << slot;
  }
};

using LowerFn = void (*)(Site& site);

struct TableRow {
  LowerFn lower;
  std::string_view domain;  // "" is ai.onnx
  std::string_view onnx;
  Needs needs;
  std::string_view framework = {};  // the framework operator, where the row's function needs to know it
  Slots slots = {};
};

// The row of `node`'s operator; null for an operator that the table does not know.
const TableRow* FindRow(const Node& node);

// The first input of `node` that `row` needs and that is not there; -1 if there is none.
int MissingInput(const TableRow& row, const Node& node);

// Whether `row` is about the operator that `node` names: in an opset without it the name is somebody else's.
bool IsInOpset(const TableRow& row, const Node& node, const Graph& graph);

// All rows, for the coverage that `check` prints.
std::span<const TableRow> AllRows();

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_TABLE_H_
