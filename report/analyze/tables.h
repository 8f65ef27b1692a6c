// Analysis -> the tables of --by: what holds the memory at the peak, by layer, op, tensor, shape or category.
// The bytes at the peak of every such table sum to the run's peak; what has no name gets a visible label.
#ifndef ONNX_MEM_REPORT_ANALYZE_TABLES_H_
#define ONNX_MEM_REPORT_ANALYZE_TABLES_H_

#include <cstdint>

#include "analyzer/analysis/analysis.h"
#include "analyzer/devices/roofline.h"
#include "report/parts/modules.h"
#include "report/parts/table.h"

namespace onnx_mem {

inline bool AliveAt(const Buffer& buffer, StepId step) { return buffer.begin <= step && step < buffer.end; }

// "tensors": every tensor of the file's graph with its type, shape and module, in the file's order. Modules are those
// of `program`, the run that is shown (may be null).
Table TensorTable(const Graph& graph, const Modules& modules, const MemoryProgram* program);

// "live_at_peak": every buffer that is alive at the peak, who made it, who keeps it and until when; largest first, at
// most `most` of them (0: all).
Table LiveTable(const RunFigures& figures, const Modules& modules, int64_t most);

// "layers": per module, in the order of first use: parameters, bytes at the peak, bytes saved for backward, FLOPs;
// with a clock, the time of all phases and what bounds most of it.
Table LayerTable(const Analysis& analysis, const Clock* clock = nullptr);

// "ops": per framework operator: calls, FLOPs and the bytes at the peak that it allocated.
Table OpTable(const Analysis& analysis);

// "timeline": a row for each step of the run: what is alive in it, by category.
Table StepTable(const RunFigures& figures);

// "shapes": buffers at the peak that have one category, type and shape, largest sum first: 7 of 512x512x3x3.
Table ShapeTable(const RunFigures& figures);

// "categories": the breakdown of both parts.
Table CategoryTable(const Analysis& analysis);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_ANALYZE_TABLES_H_
