// Which module calls enclose each node of a lowered graph, and where each call ends: the stack of Python frames.
//
//   nodes:  conv |layer1 > conv|   relu |layer1|   fc |fc|
//   calls:  layer1 (from 0 to 1), layer1.conv (0 to 0), fc (2 to 2); the model's own call encloses everything.
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_CALLS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_CALLS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

// "encoder.layer.3": a call of an element of a ModuleList or Sequential.
bool IsElement(std::string_view name);

// One call of a module: a run of nodes, from its first to its last.
struct CallSpan {
  std::string name;  // path of the call, "layer1.0.conv1"
  int32_t begin = 0;
  int32_t end = -1;
};

class Calls {
 public:
  // Nodes in order: a call continues while its name stays at the same depth of the nodes' paths. A node without a path
  // that has source lines is one of the outermost forward. Without lines it may be one that an optimizer put in: it
  // ends no call, and belongs to those that go on after it.
  explicit Calls(const FrameworkGraph& graph);

  // The calls that enclose `node`, outermost first. Empty for -1, what was there before all nodes, and past the last.
  std::span<const int32_t> of_node(int32_t node) const;
  const CallSpan& span(int32_t call) const { return spans_[static_cast<size_t>(call)]; }
  const std::vector<CallSpan>& spans() const { return spans_; }

  // How many calls enclose the maker of `id` and all its readers: the depth of the frame whose code hands the value
  // around.
  size_t CommonDepth(const FrameworkGraph& graph, TensorId id) const;
  // The last node of the outermost call that encloses `reader` but not `maker`; nullopt if there is no such call.
  std::optional<int32_t> EndOfCallEntered(int32_t maker, int32_t reader) const;
  // The innermost call that encloses `node`: in whose code it stands; -1 for the model's own.
  int32_t FrameOf(int32_t node) const {
    const std::span<const int32_t> around = of_node(node);
    return around.empty() ? -1 : around.back();
  }
  // Last node of the innermost call that encloses `node`.
  int32_t EndOfFrame(int32_t node) const;
  // The call at `depth` that `node` runs in; -1 where the node stands in the code of the frame at that depth itself.
  int32_t UnitCall(int32_t node, size_t depth) const;
  // Last node of the statement part that `node` is in the frame at `depth`: itself, or the end of that child call.
  int32_t UnitEnd(int32_t node, size_t depth) const;
  // Last node of the frame at `depth` that `node` runs in; depth 0 is the model's own call.
  int32_t EndOfFrameAt(int32_t node, size_t depth) const;

 private:
  void PlaceInserted(const FrameworkGraph& graph);

  using Around = absl::InlinedVector<int32_t, 4>;  // the calls, outermost first

  std::vector<CallSpan> spans_;
  std::vector<Around> of_node_;
};

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_CALLS_H_
