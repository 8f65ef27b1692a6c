// Runs of nodes for files that do not tell modules: between two points of the forward that a single tensor crosses.
//
//   conv1 relu1 | conv2 add relu2 | pool fc       the bars are such points; every run between two bars is a candidate
#ifndef ONNX_MEM_PLANNER_MEASURE_NODE_RUNS_H_
#define ONNX_MEM_PLANNER_MEASURE_NODE_RUNS_H_

#include <vector>

#include "analyzer/graph/framework_graph.h"
#include "planner/measure/candidates.h"

namespace onnx_mem {

// `graph` is lowered. At most a few hundred runs: of a long chain's points only some are used.
std::vector<Candidate> NodeRuns(const FrameworkGraph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_NODE_RUNS_H_
