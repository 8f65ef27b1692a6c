// What both graphs are made of: nodes and tensors in dense vectors, every shape concrete. Graph (graph.h) is what a
// file says, FrameworkGraph (framework_graph.h) what the framework runs.
//
//   x[8,3,32,32] --conv1(Conv)--> y[8,64,32,32] --relu1(Relu)--> z[8,64,32,32]
//
// is two nodes and, with weight and bias, five tensors. Nodes stand in the order in which they run: each reads what
// stands before it.
#ifndef ONNX_MEM_ANALYZER_GRAPH_DAG_H_
#define ONNX_MEM_ANALYZER_GRAPH_DAG_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/ids.h"
#include "analyzer/graph/op_name.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {

using NodeId = Id<struct NodeTag>;
using TensorId = Id<struct TensorTag>;
// Lists of ids. Most are short: up to four lie in the list itself, and nothing is allocated.
using NodeIds = absl::InlinedVector<NodeId, 4>;
using TensorIds = absl::InlinedVector<TensorId, 4>;

// As std::erase_if, which knows the standard library's containers alone.
template <class Ids, class Drops>
void EraseIf(Ids& ids, const Drops& drops) {
  ids.erase(std::remove_if(ids.begin(), ids.end(), drops), ids.end());
}

// A tensor whose contents are known without running the model: small constants and folded shape arithmetic.
// `data` holds as many elements as `dims` say, row-major. Integers and booleans are int64, all floats double.
struct Literal {
  DType dtype = DType::kUnknown;
  Dims dims;
  std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>> data;
  friend bool operator==(const Literal&, const Literal&) = default;

  const std::vector<int64_t>* ints() const { return std::get_if<std::vector<int64_t>>(&data); }
  const std::vector<double>* floats() const { return std::get_if<std::vector<double>>(&data); }
};
using LiteralPtr = std::shared_ptr<const Literal>;

enum class TensorRole : uint8_t {
  kInput,        // fed by the caller
  kInitializer,  // stored in the file: a parameter, a buffer or a constant (analyzer/lower tells which)
  kConstant,     // output of a Constant node
  kActivation,   // computed
};
std::string_view NameOf(TensorRole role);

// What the numbers of a stored tensor were seen to be while the file was read, before they were released.
enum class Contents : uint8_t {
  kUnseen,
  kSinusoids,    // sines and cosines of positions: nothing trains them
  kNoEmbedding,  // not the token embedding's, though the shape is
};

struct Tensor {
  std::string name;  // as in the file
  std::string path;  // of a parameter whose name an exporter made up: as the module has it; filled by analyzer/lower
  DType dtype = DType::kUnknown;
  Shape shape;
  TensorRole role = TensorRole::kActivation;
  NodeId producer;    // invalid for inputs and initializers
  NodeIds consumers;  // one entry per use, in node order
  LiteralPtr value;   // contents where known, else null
  Contents contents = Contents::kUnseen;
  bool upper_bound = false;  // the size depends on data; `shape` is the largest it can be
};

// `tensor` for another graph: no node makes or reads it yet.
inline Tensor Unlinked(Tensor tensor) {
  tensor.producer = NodeId();
  tensor.consumers.clear();
  return tensor;
}

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, LiteralPtr>;
using Attributes = absl::btree_map<std::string, Attribute, std::less<>>;  // half the bytes of a std::map where empty

// What a node of either graph has.
struct AnyNode {
  std::string name;   // as in the file; may be empty
  OpName op;          // of a file's node "Conv", of the framework's "conv"
  TensorIds inputs;   // an invalid id is an omitted optional input
  TensorIds outputs;  // likewise
  Attributes attributes;
  std::shared_ptr<const std::string> source_trace;  // of the Python code, as the exporter wrote it; null: none
};

template <class NodeT>
struct Dag {
  IdVector<NodeId, NodeT> nodes;
  IdVector<TensorId, Tensor> tensors;
  TensorIds inputs;  // without initializers
  TensorIds outputs;
  TensorIds initializers;

  // The node that makes `id`; null for what none makes, and for an omitted operand.
  const NodeT* MakerOf(TensorId id) const {
    const NodeId producer = id.valid() ? tensors[id].producer : NodeId();
    return producer.valid() ? &nodes[producer] : nullptr;
  }
};

// The name that reports show and patterns match: the path in the module where the file's name is none.
inline const std::string& ShownName(const Tensor& tensor) { return tensor.path.empty() ? tensor.name : tensor.path; }

// Attribute of `node`, or `fallback` when it is absent or of another type.
int64_t IntAttribute(const AnyNode& node, std::string_view name, int64_t fallback);
double FloatAttribute(const AnyNode& node, std::string_view name, double fallback);
std::string StringAttribute(const AnyNode& node, std::string_view name, std::string_view fallback);
std::vector<int64_t> IntsAttribute(const AnyNode& node, std::string_view name, std::vector<int64_t> fallback = {});

// Calls `read` with each tensor that `node` reads: its inputs, omitted ones too, and what the bodies of a file's If,
// Loop or Scan read.
template <class NodeT, class Read>
void ForEachRead(const NodeT& node, const Read& read) {
  std::for_each(node.inputs.begin(), node.inputs.end(), read);
  if constexpr (requires { node.captures; }) std::for_each(node.captures.begin(), node.captures.end(), read);
}

// "node '/layer1/Conv' (Conv)", or "node #12 (Relu)" where the file gives no name.
std::string Describe(const AnyNode& node, NodeId id);
template <class NodeT>
std::string Describe(const Dag<NodeT>& graph, NodeId id) {
  return Describe(graph.nodes[id], id);
}

// The rest is there for both graphs (dag.cc).

// Sets every tensor's producer and consumers from the nodes.
template <class NodeT>
void LinkTensors(Dag<NodeT>& graph);

// OK iff ids are in range, every tensor has at most one producer, every node reads only inputs, initializers and
// outputs of earlier nodes, producer/consumers agree with the nodes, and literals have the tensors' sizes.
template <class NodeT>
absl::Status VerifyGraph(const Dag<NodeT>& graph);

// One line per tensor and node, for tests:
//   input x float32 8x3x32x32
//   conv1 = Conv(x, w) -> y float32 8x64x32x32
template <class NodeT>
std::string DumpGraph(const Dag<NodeT>& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_DAG_H_
