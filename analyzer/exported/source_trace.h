// The stack trace that dynamo's exporter writes to each node -> the lines of the forward() functions around it.
//
//   File "models/net.py", line 93, in forward        ->  {models/net.py, 93, "out = self.bn1(out)"},
//     out = self.bn1(out)                                {.../batchnorm.py, 210, "return F.batch_norm("}
//   File ".../batchnorm.py", line 210, in forward
//     return F.batch_norm(
//
// Source: torch/fx/proxy.py (stack traces keep the frames called forward), torch.onnx (metadata of a node).
#ifndef ONNX_MEM_ANALYZER_EXPORTED_SOURCE_TRACE_H_
#define ONNX_MEM_ANALYZER_EXPORTED_SOURCE_TRACE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/exported/source_line.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem {

// The key under which the exporter writes it. Import moves it to AnyNode::source_trace; lowering keeps it on the
// operators that it makes.
inline constexpr std::string_view kExportedTrace = "pkg.torch.onnx.stack_trace";

// An assumption of a run (enact.h) whose model has such lines.
inline constexpr std::string_view kNamesBySource = "names from the file's source lines";

// The same where the file lists the module's tensors (program_signature.h).
inline constexpr std::string_view kTensorsListed = "the module's tensors as the file lists them";
inline constexpr std::string_view kParametersMissing = "of which it has not all parameters";

// Outermost first; null where the line is not known.
using SourceLines = std::vector<std::shared_ptr<const SourceLine>>;

// In the trace of what torch.utils.checkpoint_sequential runs: the line of its own function, which is called forward,
// too, and is no module's.
inline constexpr std::string_view kRunsSegment = "input = functions[j](input)";
// The text of a trace without that function.
std::string TraceOfModules(std::string_view trace);

// Reads traces; equal lines of different nodes are one object.
class SourceTraceReader {
 public:
  // The lines of the functions called forward around a lowered node: one of the model's own and one of each call in
  // `node.calls`. Empty where the trace has another number of lines, or where there is none.
  const SourceLines& Read(const FrameworkNode& node);

 private:
  std::map<std::string, SourceLines, std::less<>> traces_;
  std::map<std::string, std::shared_ptr<const SourceLine>> lines_;  // by file, line and text
};

// Keeps the trace of the file's node on an operator that it became, and that of an operator on another.
inline void KeepSourceTrace(const AnyNode& from, AnyNode& to) {
  if (from.source_trace != nullptr) to.source_trace = from.source_trace;
}

// The line that the innermost function of the trace stands on, without its indentation; "" where it is not known.
std::string_view InnermostLineOf(const AnyNode& node);

// Where `line`, from `from` on, calls a function of that very name, "split" of torch.split(x): not tensor_split(x), and
// not self.split(x), a module or a method of the object. npos where it calls none.
size_t FindCall(std::string_view line, std::string_view name, size_t from = 0);

// Whether the trace of `node` contains `text`.
bool TraceHas(const FrameworkNode& node, std::string_view text);

// For an operator that ran in other calls than its trace says: `kept` of them, the outermost, are right, and `depth` in
// all. Forgets the lines further in, and the one that makes the first other call; not so the one on which a Sequential
// calls all of its elements.
void MoveCall(FrameworkNode& node, size_t kept, size_t depth);

// `input = module(input)`, on which a Sequential calls its elements one after the other.
bool IsContainersLoop(const SourceLine& line);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_SOURCE_TRACE_H_
