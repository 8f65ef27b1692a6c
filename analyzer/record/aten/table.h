// THE table from ATen operators, as a dispatch mode sees them below autograd, to framework operators
// (eager/engine/op_table.h).
#ifndef ONNX_MEM_ANALYZER_RECORD_ATEN_TABLE_H_
#define ONNX_MEM_ANALYZER_RECORD_ATEN_TABLE_H_

#include <string_view>
#include <vector>

#include "analyzer/record/aten/call.h"

namespace onnx_mem::record {

struct AtenRow {
  std::string_view aten;        // with overload, "add.Tensor"; of an operator in place without the underscore
  std::string_view op;          // the framework operator
  void (*map)(AtenCall& call);  // gives the node its inputs and attributes; may change its operator
};

// The row of "relu_" or "add.Tensor", in a namespace "ns::op"; null where there is none.
const AtenRow* FindAten(std::string_view name);

// The row of an operator's line. What a call with out= writes over is no new tensor, whatever the operator.
const AtenRow* FindAten(const Line& line);

const std::vector<AtenRow>& AllAtenRows();

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_ATEN_TABLE_H_
