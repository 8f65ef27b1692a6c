// One operator line of a record while it becomes a node of framework operators: its arguments at the sizes that run,
// by place or by name.
#ifndef ONNX_MEM_ANALYZER_RECORD_ATEN_CALL_H_
#define ONNX_MEM_ANALYZER_RECORD_ATEN_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/record/format/record.h"
#include "analyzer/run/run.h"

namespace onnx_mem::record {

// What the lowering knows of a value: the tensor that stands for it now, invalid on the host.
using TensorOfValue = absl::FunctionRef<TensorId(ValueNumber)>;

class AtenCall {
 public:
  AtenCall(const Line& line, const FrameworkGraph& graph, const Run& run, const Place& place, TensorOfValue tensor_of,
           FrameworkNode& node, std::vector<int64_t> result_strides)
      : line(line),
        graph(graph),
        run(run),
        node(node),
        result_strides(std::move(result_strides)),
        place_(place),
        tensor_of_(tensor_of) {}

  const Line& line;
  const FrameworkGraph& graph;
  const Run& run;
  FrameworkNode& node;  // `op` is the row's; the results are there, inputs and attributes are for the row to add
  std::vector<int64_t> result_strides;  // of the first result, in elements; empty where row-major

  size_t num_arguments() const { return line.arguments.size(); }
  // The argument at place `i`, or else called `name`; null where neither is there.
  const Argument* Find(size_t i, std::string_view name = "") const;
  // Invalid where the argument is missing, None, a number or on the host.
  TensorId Tensor(size_t i, std::string_view name = "") const;
  TensorIds Tensors(size_t i, std::string_view name = "") const;
  bool IsTensor(size_t i, std::string_view name = "") const { return Tensor(i, name).valid(); }
  int64_t Int(size_t i, std::string_view name, int64_t fallback) const;
  // Of a list, or of one number.
  std::vector<int64_t> Ints(size_t i, std::string_view name = "") const;
  double Float(size_t i, std::string_view name, double fallback) const;
  bool Flag(size_t i, std::string_view name, bool fallback) const;
  std::string Text(size_t i, std::string_view name) const;
  bool Has(size_t i, std::string_view name = "") const;

  // Appends inputs: the tensor of each place, in order.
  void TakeInputs(std::initializer_list<size_t> places);
  int64_t rank(TensorId id) const { return static_cast<int64_t>(graph.tensors[id].shape.rank()); }
  // A dimension counted from the front.
  int64_t Axis(int64_t axis, int64_t rank) const { return axis < 0 ? axis + rank : axis; }
  const onnx_mem::Tensor& result(size_t i = 0) const { return graph.tensors[node.outputs[i]]; }

 private:
  std::optional<int64_t> Number(const Argument& argument) const;

  Place place_;
  TensorOfValue tensor_of_;
};

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_ATEN_CALL_H_
