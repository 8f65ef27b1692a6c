// Graph as imported -> MemoryProgram of one inference in a runtime that plans memory ahead, instead of an eager
// framework: what facts/planned_runtime.h says of the operators, given to the liveness of memory/.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_PLANNED_RUNS_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_PLANNED_RUNS_H_

#include "analyzer/graph/graph.h"
#include "analyzer/memory/program.h"
#include "analyzer/onnx/build/import.h"

namespace onnx_mem {

// One inference by a runtime that plans ahead: every tensor lives from its maker to its last reader, views share,
// activations and arithmetic write over an operand that nobody reads any more. One step per node of the file.
MemoryProgram PlanStatically(const Graph& graph);

// Whether a session plans without knowing every shape: the file leaves dimensions free, and no exporter wrote the
// symbolic shape of every tensor (those that write metadata do).
bool LeavesDimsFree(const ModelInfo& info);

// The first run of the same inference in an onnxruntime session, with the session's own sharing of buffers
// (memory/session_plan.h): of what its optimizer makes of the graph at load, as by default; kCpuAsInFile: node by
// node as the file has them (ORT_DISABLE_ALL). `free_dims`: LeavesDimsFree; the session then knows fewer shapes when it
// plans than we do.
enum class SessionOn { kGpu, kCpu, kCpuAsInFile };
MemoryProgram PlanSessionRun(const Graph& graph, SessionOn on, bool free_dims);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_PLANNED_RUNS_H_
