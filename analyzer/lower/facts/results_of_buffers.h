// What an exporter computed of buffers, apart from what it computed of parameters.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_RESULTS_OF_BUFFERS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_RESULTS_OF_BUFFERS_H_

#include <vector>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

// Stored results of calls that have no parameter's sizes in any order, which a call of the program names as its
// operand, of a file that lacks none of the parameters in the program's signature (the caller's to know). What is read
// as a weight there was made of a buffer:
//
//   y = matmul(x, "permute")     x @ self.directions.T
std::vector<TensorId> ResultsOfBuffers(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_RESULTS_OF_BUFFERS_H_
