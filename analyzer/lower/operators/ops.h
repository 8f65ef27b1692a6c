// The functions of the table's rows (table.inc), by which one ONNX node becomes framework operators (site.h): a row
// declares its function, which stands in the file of its family in this folder.
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_OPS_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_OPS_H_

#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

#define ROW(lower, ...) void lower(Site& s);
#include "analyzer/lower/operators/table.inc"
#undef ROW

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_OPS_H_
