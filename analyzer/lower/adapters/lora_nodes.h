// The nodes of a layer with an adapter of low rank beside it, as PEFT runs them.
#ifndef ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LORA_NODES_H_
#define ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LORA_NODES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/lowered.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// A layer that can have an adapter.
struct AdaptedLayer {
  TensorId weight;
  TensorId x;  // as the layer is given it: a product of a record is given its rows
  bool convolution = false;
  const Lora* lora = nullptr;  // null: it has none
};

// A base in four or eight bits.
bool IsPacked(const FrameworkNode& node);

// How many nodes stand in the place of `base`.
int32_t NodesOfAdapted(const Lowered& lowered, const Run& run, const FrameworkNode& base, const AdaptedLayer& layer);

class AdapterWriter {
 public:
  AdapterWriter(Lowered& lowered, const Run& run) : lowered_(lowered), run_(run) {}

  // The layer's nodes with the adapter's, in the place of `base`; `place` is where `base` stands among the new nodes.
  std::vector<FrameworkNode> Adapted(FrameworkNode base, const AdaptedLayer& layer, int32_t place);

 private:
  struct Sizes;
  Sizes SizesOf(const FrameworkNode& base, const AdaptedLayer& layer) const;

  TensorId RunBase(FrameworkNode base, std::string_view path, DType result_dtype);
  TensorId Update(const AdaptedLayer& layer, const Sizes& sizes, TensorId x, TensorId a, TensorId b);
  void AddUp(TensorId y, TensorId result, TensorId update, bool in_float32);

  const Dims& dims_of(TensorId id) const { return lowered_.graph.tensors[id].shape.dims; }
  int32_t last() const { return place_ + static_cast<int32_t>(nodes_.size()) - 1; }
  TensorId AddTensor(std::string name, Dims dims, DType dtype, TensorKind kind);
  TensorId AddParameter(std::string name, const Dims& dims);
  TensorId AddResult(std::string name, const Dims& dims, DType dtype);
  void AppendTo(TensorId result, std::string_view op, TensorIds inputs, Attributes attributes = {});
  TensorId Append(std::string_view op, TensorIds inputs, const Dims& dims, DType dtype, Attributes attributes);
  // `argument` is released with the call that gave `result`, unless it is the frame's x.
  TensorId Pass(TensorId argument, TensorId x, TensorId result);
  // Not before the node that was added last.
  void Release(TensorId id) { lowered_.releases[id] = std::max(lowered_.releases[id], last()); }

  Lowered& lowered_;
  const Run& run_;
  std::vector<FrameworkNode> nodes_;
  FrameworkNode like_;  // the layer's own
  int32_t place_ = 0;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_ADAPTERS_LORA_NODES_H_
