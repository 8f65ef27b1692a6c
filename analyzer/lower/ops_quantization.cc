// Integer arithmetic and its borders. Scales and zero points are numbers to the framework.
#include "analyzer/lower/ops.h"

namespace onnx_mem {

void LowerQuantize(Site& s) { s.Emit("quantize", {s.Materialized(0)}, s.node().outputs); }

void LowerDequantize(Site& s) { s.Emit("dequantize", {s.Materialized(0)}, {s.Out(0)}); }

// Products of integers: a new result, nothing saved, no gradient.
void LowerIntegerProduct(Site& s) { s.Emit("empty", {}, {s.Out(0)}); }

}  // namespace onnx_mem
