// Tables that code computes of numbers alone in its first run, and keeps for all others. An export in which the first
// run was traced computes them in each:
//
//   if self.pe is None: self.pe = self.make_table(x.device)       no attribute of a module leaves a trace in a file
//   x = x + self.pe[:, : x.size(1)]
#ifndef ONNX_MEM_ANALYZER_ASSUME_TABLE_KEPT_TABLES_H_
#define ONNX_MEM_ANALYZER_ASSUME_TABLE_KEPT_TABLES_H_

#include "analyzer/graph/lowered.h"

namespace onnx_mem {

// Makes buffers of all that is computed of numbers and buffers alone and read with other values, and leaves out what
// they are made of. What is drawn at random is made anew in each run. False if there are none.
bool KeepTables(Lowered& lowered);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_KEPT_TABLES_H_
