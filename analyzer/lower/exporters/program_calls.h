// The node of the exported program that each operator of a dynamo file came from, and the values that it names:
//
//   MatMul(softmax, split_2)   %matmul_1 = aten.matmul(args = (%softmax, %cat_6))
//
// Where the exporter's optimizer took a node out (a copy), its readers still name what it gave: no tensor of the file
// is called cat_6, and split_2 has no name in the call.
#ifndef ONNX_MEM_ANALYZER_LOWER_EXPORTERS_PROGRAM_CALLS_H_
#define ONNX_MEM_ANALYZER_LOWER_EXPORTERS_PROGRAM_CALLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

// All operators that one node of the program became, and the values that it names, in order.
struct ProgramCall {
  NodeIds nodes;
  std::vector<std::string> reads;
};

// The value that the node's call gave, by the program's name for it: "matmul_1"; empty where the file does not tell.
std::string_view ResultOfProgramCall(const Node& node);

// The calls, first run first; none where the file does not tell.
std::vector<ProgramCall> ProgramCalls(const Lowering& lowering);

// What the call reads of what other calls made, each once, under a name that the call does not use.
TensorIds UnnamedReads(const Lowering& lowering, const ProgramCall& call);

// Number of the result of a call of `aten`: "cat_6" -> 6, "cat" -> 0; -1 for any other name.
int NumberOfResult(std::string_view name, std::string_view aten);

// "scaled_dot_product_attention#..." -> "scaled_dot_product_attention".
std::string_view AtenOperatorOf(const Node& node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_EXPORTERS_PROGRAM_CALLS_H_
