// One ONNX node that runs on the device while it becomes framework operators: what its row's function sees and says.
//
//   void LowerConcat(Site& s) { s.Emit("cat", s.Tensors(), {s.Out(0)}, {{"axis", s.Axis("axis", 0)}}); }
#ifndef ONNX_MEM_ANALYZER_LOWER_OPERATORS_SITE_H_
#define ONNX_MEM_ANALYZER_LOWER_OPERATORS_SITE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/lower/facts/scopes.h"
#include "analyzer/lower/operators/residence.h"
#include "analyzer/lower/operators/table.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// What all nodes of one lowering share.
struct Lowering {
  const Graph& source;
  const Run& run;
  const Residence& residence;
  Draft& draft;
  bool training_form = false;  // exported in training mode: some BatchNormalization or Dropout says so
  int64_t hidden_buffer_bytes = 0;
  std::map<std::string, int64_t> assumed = {};  // operator -> how many nodes got the default rule
  int64_t data_dependent = 0;                   // subgraphs that run as one opaque step
  int64_t dropouts = 0;                         // Dropout nodes in the file
  std::vector<Diagnostic> diagnostics = {};
  absl::flat_hash_set<TensorId> frozen = {};     // parameters that the model itself does not train
  absl::flat_hash_set<TensorId> counters = {};   // running means of the BatchNorms whose counter is counted
  std::map<TensorId, TensorIds> sequences = {};  // sequences whose tensors are known
  int64_t listed = 0;                            // tensors in all of them
  // The states of recurrent layers, by what the file slices them from, and whether they are the cells'.
  std::map<std::pair<TensorId, bool>, TensorId> states = {};
};

class Site {
 public:
  // `scope` must outlive the site.
  Site(Lowering& lowering, NodeId id, const TableRow* row, const CallScope& scope);

  const Node& node() const { return node_; }
  const CallScope& scope() const { return scope_; }
  const Run& run() const { return lowering_.run; }
  const Graph& source() const { return lowering_.source; }
  Lowering& lowering() { return lowering_; }
  const Lowering& lowering() const { return lowering_; }
  Draft& draft() { return lowering_.draft; }
  const Draft& draft() const { return lowering_.draft; }
  std::string_view framework() const { return row_ ? row_->framework : std::string_view(); }
  int version() const { return node_.since_version; }

  // --- inputs
  size_t num_inputs() const { return node_.inputs.size(); }
  bool Has(size_t i) const { return i < node_.inputs.size() && node_.inputs[i].valid(); }
  // The tensor in slot i; invalid if omitted or a Python number.
  TensorId In(size_t i) const;
  // The same, but a number becomes a tensor that is made on the spot. Invalid only if omitted.
  TensorId Materialized(size_t i);
  // The inputs that are tensors on the device, in order: no Python numbers, none that are omitted.
  TensorIds DeviceTensors() const;
  // All inputs as tensors, without omitted ones at the end.
  TensorIds Tensors();
  // The stored tensor behind slot i, looking through Identity, Transpose, Reshape, Cast; invalid if there is none.
  // `transposed` is set if an odd number of 2-D transposes lies between.
  TensorId Stored(size_t i, bool* transposed = nullptr) const;
  const Shape& InShape(size_t i) const;
  DType InType(size_t i) const;
  size_t InRank(size_t i) const { return InShape(i).rank(); }
  // Dimension `axis` of input i or output i; unknown where it has no such dimension. InShape(i).dims[axis] may not be.
  int64_t InDim(size_t i, size_t axis) const { return Dim(InShape(i), axis); }
  int64_t OutDim(size_t i, size_t axis) const { return Dim(OutShape(i), axis); }
  std::optional<double> Number(size_t i) const;               // known, single
  std::optional<std::vector<int64_t>> Ints(size_t i) const;   // known integers
  std::optional<std::vector<double>> Floats(size_t i) const;  // known numbers

  // --- outputs
  size_t num_outputs() const { return node_.outputs.size(); }
  TensorId Out(size_t i) const { return i < node_.outputs.size() ? node_.outputs[i] : TensorId(); }
  bool OutUsed(size_t i) const { return Out(i).valid() && lowering_.residence.on_device[Out(i)]; }
  const Shape& OutShape(size_t i = 0) const;
  DType OutType(size_t i = 0) const;

  // --- attributes of the ONNX node
  int64_t Int(std::string_view name, int64_t fallback) const { return IntAttribute(node_, name, fallback); }
  double Float(std::string_view name, double fallback) const { return FloatAttribute(node_, name, fallback); }
  std::vector<int64_t> IntList(std::string_view name) const { return IntsAttribute(node_, name); }
  std::string String(std::string_view name, std::string_view fallback) const {
    return StringAttribute(node_, name, fallback);
  }
  // A non-negative axis of input 0.
  int64_t Axis(std::string_view name, int64_t fallback) const { return Normalize(Int(name, fallback), InRank(0)); }
  // In [0, rank): shapes that are known have been checked, of the others nothing follows.
  static int64_t Normalize(int64_t axis, size_t rank) {
    const auto count = static_cast<int64_t>(rank);
    return std::clamp<int64_t>(axis < 0 ? axis + count : axis, 0, std::max<int64_t>(count - 1, 0));
  }
  // Axes as attribute (old opsets) or as input `slot`, non-negative; nullopt if neither is there.
  std::optional<std::vector<int64_t>> Axes(size_t slot, size_t rank) const;

  // --- what the node becomes
  NodeId Emit(std::string_view op, TensorIds inputs, TensorIds outputs, Attributes attributes = {});
  // An operator on the way, with a result of this shape.
  TensorId EmitTemp(std::string_view op, TensorIds inputs, const Dims& dims, DType dtype, Attributes attributes = {});
  TensorId Temp(const Dims& dims, DType dtype);
  // Output i is the very same tensor as `of`.
  void Alias(size_t i, TensorId of) { lowering_.draft.Alias(Out(i), of); }
  // The conservative default, with the label `assumed`.
  void Assume();

 private:
  static int64_t Dim(const Shape& shape, size_t axis) { return axis < shape.rank() ? shape.dims[axis] : kUnknownDim; }

  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  const TableRow* row_;
  const CallScope& scope_;
  int32_t place_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_OPERATORS_SITE_H_
