// Small graphs as text, for tests of lowering. One line each:
//
//   input x float32 2x3x8x8
//   weight conv1.weight float32 4x3x3x3
//   const half float32 scalar = 0.5
//   /conv1/Conv = Conv(x, conv1.weight) -> y float32 2x4x8x8 {strides: [1, 1], group: 1, mode: "same"}
//   /Shape = Shape(y) -> s int64 4 = 2 4 8 8        # folded contents after '='
//   output y
//
// An omitted input is '-'. A second output follows a comma: -> y float32 2x3, mask bool 2x3. Metadata of the node
// before: "@ key value to the end of the line". since_version: "v11" after the arrow's outputs is an attribute of the
// same name.
#ifndef ONNX_MEM_TESTS_ANALYZER_LOWER_GRAPH_TEXT_H_
#define ONNX_MEM_TESTS_ANALYZER_LOWER_GRAPH_TEXT_H_

#include <string>
#include <string_view>

#include "analyzer/graph/graph.h"
#include "analyzer/prepare/lower.h"

namespace onnx_mem {

// As scaled_dot_product_attention is written out: both operands are multiplied by the square root of the scale.
inline constexpr std::string_view kAttention = R"(
    input q float32 2x4x16x8
    input k float32 2x4x16x8
    input v float32 2x4x16x8
    const root float32 scalar = 0.59460355
    /Transpose = Transpose(k) -> kt float32 2x4x8x16 {perm: [0 1 3 2]}
    /Mul = Mul(q, root) -> qs float32 2x4x16x8
    /Mul_1 = Mul(kt, root) -> ks float32 2x4x8x16
    /MatMul = MatMul(qs, ks) -> s float32 2x4x16x16
    /Softmax = Softmax(s) -> p float32 2x4x16x16 {axis: -1}
    /MatMul_1 = MatMul(p, v) -> y float32 2x4x16x8
    output y
)";

// The graph that `text` describes; a test failure for text that is none.
Graph ParseGraph(std::string_view text);

// "conv(x, conv1.weight) -> y [conv1] {group 1}" per node, then parameters, buffers and hidden bytes. `attributes`
// are those to print, separated by spaces.
std::string DumpLowered(const Lowered& lowered, std::string_view attributes = "");

// Lower(ParseGraph(text), run) and its dump; the error's text on failure.
std::string LowerText(std::string_view text, const Run& run = {}, std::string_view attributes = "");

// A run that leaves out one rewrite.
Run Without(const std::string& rewrite);

// Whether a dump has this line, or this part of one; and how often.
bool Has(std::string_view dump, std::string_view part);
int Count(std::string_view dump, std::string_view part);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_ANALYZER_LOWER_GRAPH_TEXT_H_
