// Figures as a reader wants them: sizes of a column in one unit, large counts, shares.
#ifndef ONNX_MEM_REPORT_PARTS_FIGURES_H_
#define ONNX_MEM_REPORT_PARTS_FIGURES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/graph/bytes.h"
#include "report/parts/table.h"

namespace onnx_mem {

// The unit in which a column is shown whose largest value is `largest`: MiB up to 100 GiB, so that rows of one screen
// can be added up by eye; smaller ones for small columns. `chosen` wins unless it is kAuto.
ByteUnit ColumnUnit(int64_t largest, ByteUnit chosen);

// "5206.5 MiB" with a fixed number of decimals, so that the points of a column stand in line. Less than one
// of the unit is shown in its own, "820 B".
std::string SizeIn(int64_t bytes, ByteUnit unit);

// "25.6 M", "4.09 G", "512": three significant digits.
std::string ShortCount(int64_t count);

// "1 other", "12 others": rows that a list leaves out.
std::string Others(int64_t count);

// "1.25 ms" of nanoseconds: three significant digits.
std::string ShortTime(int64_t nanoseconds);

// "91 %", "<1 %" for what is there but rounds to nothing, "" for nothing.
std::string Percent(int64_t part, int64_t whole);

// "saved activations" of "saved_activations".
std::string Words(std::string_view name);

// The cell as text of the screen: sizes in `unit`, shapes as 64x3x224x224, counts with thousands separators, "-" for
// nothing and for what is not known.
std::string CellText(const Cell& cell, ColumnKind kind, ByteUnit unit);

// The cell for machines (csv): sizes and counts as plain integers, "" for what is not known.
std::string CellRaw(const Cell& cell);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_FIGURES_H_
