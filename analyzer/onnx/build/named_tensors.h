// The tensors of one GraphProto while it is written into a Graph: its own, or (a branch that always runs) the one
// around it.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_NAMED_TENSORS_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_NAMED_TENSORS_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analyzer/graph/graph.h"
#include "analyzer/onnx/infer/shapes.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace onnx_mem {

class NamedTensors {
 public:
  NamedTensors(const onnx::GraphProto& proto, const InferredGraph& facts, Graph& graph, NamedTensors* outer)
      : proto_(proto), facts_(facts), graph_(graph), outer_(outer) {}

  void Reserve(size_t names) { ids_.reserve(names); }
  void AddInputs();
  void AddInitializers();
  void AddOutputs();
  // The tensor called `name` here or further out; an invalid id for "" and for what is nowhere.
  TensorId Find(const std::string& name);
  // The tensor called `name` here, added where there is none.
  TensorId Define(const std::string& name, TensorRole role);
  // What is there already is called `name` too, and shown as that.
  void Rename(TensorId id, const std::string& name);
  // A tensor that the file does not have, called `name` or, where that is taken, "NAME/1".
  TensorId AddMade(const std::string& name, Tensor tensor);

  const TensorIds& captures() const { return captures_; }  // tensors of the outer graph that were requested

 private:
  Tensor MakeTensor(const std::string& name, TensorRole role) const;
  bool SharesGraph() const { return outer_ != nullptr && &outer_->graph_ == &graph_; }
  NamedTensors& Owner() { return SharesGraph() ? outer_->Owner() : *this; }  // of the graph
  std::string UniqueName(const std::string& name);

  const onnx::GraphProto& proto_;
  const InferredGraph& facts_;
  Graph& graph_;
  NamedTensors* outer_;
  absl::flat_hash_map<absl::string_view, TensorId> ids_;  // keys live in the proto, or in made_names_
  std::deque<std::string> made_names_;
  absl::flat_hash_map<std::string, int64_t> last_;  // name -> the number behind it that was given out last
  TensorIds captures_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_NAMED_TENSORS_H_
