// Graphs for tests, written as text in the syntax of ONNX (onnx/defs/parser.h):
//
//   ParseGraph(R"(mlp (float[N,784] x) => (float[N,10] y)
//                 <float[256,784] w1 = ["location": "none"], float[10,256] w2 = ["location": "none"]>
//                 { [fc1] h = Gemm <transB=1> (x, w1)   r = Relu(h)   y = Gemm <transB=1> (r, w2) })",
//              {{"N", 8}})
//
// A weight is written `= ["location": "none"]`: external data that does not exist, so that only its type and shape
// count. Without any `=` it would be a type annotation, not an initializer. `[fc1]` names a node. The header with IR
// and operator-set versions is added; a text that starts with its own `<ir_version: ...>` keeps it.
#ifndef ONNX_MEM_TESTS_GRAPH_TEXT_H_
#define ONNX_MEM_TESTS_GRAPH_TEXT_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/graph/graph.h"
#include "analyzer/onnx/build/import.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

inline constexpr int kTextOpset = 20;

// The model that `text` spells. A text that does not parse ends the test program with ONNX's message.
onnx::ModelProto ModelOfText(std::string_view text, int opset = kTextOpset);

// The same as the bytes of a file.
std::string ModelBytes(std::string_view text, int opset = kTextOpset);

// The text as ModelFile::Import gives it; its errors are the caller's to expect.
absl::StatusOr<ImportedModel> ImportText(std::string_view text, const Bindings& bindings = {}, int opset = kTextOpset);

// The graph of a text that must import, `dims` bound. An error ends the test program with its message.
Graph ParseGraph(std::string_view text, const std::map<std::string, int64_t>& dims = {}, int opset = kTextOpset);

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_GRAPH_TEXT_H_
