// What a model is once ONNX is left behind: nodes and tensors in dense vectors, every shape concrete.
// No protobuf type passes this point. Built by analyzer/onnx (or by tests from text), immutable afterwards but for
// analyzer/lower, which rewrites it into the operators that the framework ran.
//
//   x[8,3,32,32] --conv1(Conv)--> y[8,64,32,32] --relu1(Relu)--> z[8,64,32,32]
//
// is two nodes and, with weight and bias, five tensors. Nodes stand in file order, which is a topological order and
// the order in which the framework ran them.
#ifndef ONNX_MEM_ANALYZER_GRAPH_GRAPH_H_
#define ONNX_MEM_ANALYZER_GRAPH_GRAPH_H_

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
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/ids.h"
#include "analyzer/graph/op_name.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/graph/shape.h"

namespace onnx_mem {

struct Graph;
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

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, LiteralPtr>;
using Attributes = absl::btree_map<std::string, Attribute, std::less<>>;  // half the bytes of a std::map where empty

struct Node {
  std::string name;       // as in the file; may be empty
  OpName op;              // "Conv" after import; a framework op ("conv") after lowering
  std::string domain;     // "" for ai.onnx
  int since_version = 0;  // version of the operator's schema that the model's opset selects; 0: unknown
  TensorIds inputs;       // an invalid id is an omitted optional input
  TensorIds outputs;      // likewise
  Attributes attributes;
  absl::btree_map<std::string, std::string, std::less<>> metadata;  // exporter's metadata_props
  // Where in the framework's program the node ran; filled by analyzer/lower from metadata or names.
  std::string module;              // dotted path of the nn.Module: "layer1.0.conv1"; "" for the root
  std::vector<std::string> calls;  // module calls that enclose the node, outermost first, each naming one call
  std::shared_ptr<const std::string> source_trace;  // of the Python code, as the exporter wrote it; null: none
  std::string lost_parameter;  // of the module that it runs in, a parameter of which the file has no tensor; "": none
  std::string framework_op;    // the framework operator call that it is a part of: "gelu#3"; "" if not known
  // Bodies of If (then, else), Loop and Scan (body). A body's tensors are its own; `captures` names the outer ones.
  std::vector<std::shared_ptr<const Graph>> subgraphs;
  TensorIds captures;           // tensors of this graph that the bodies read
  bool shapes_assumed = false;  // outputs come from value_info or are unknown: no schema knew this operator
};

struct BoundRecord;  // analyzer/record

struct Graph {
  std::string name;
  int opset = 0;  // version of the standard operators that the file imports; 0: unknown
  IdVector<NodeId, Node> nodes;
  IdVector<TensorId, Tensor> tensors;
  TensorIds inputs;  // without initializers
  TensorIds outputs;
  TensorIds initializers;
  int64_t batch = 0;                          // dim 0 of the inputs, as they are bound; 0: unknown
  ProgramSignature signature;                 // of the program that was exported; empty where the file has none
  std::shared_ptr<const BoundRecord> record;  // what the running model was seen to do; null where nobody recorded it
};

// The name that reports show and patterns match: the path in the module where the file's name is none.
inline const std::string& ShownName(const Tensor& tensor) { return tensor.path.empty() ? tensor.name : tensor.path; }

// Attribute of `node`, or `fallback` when it is absent or of another type.
int64_t IntAttribute(const Node& node, std::string_view name, int64_t fallback);
double FloatAttribute(const Node& node, std::string_view name, double fallback);
std::string StringAttribute(const Node& node, std::string_view name, std::string_view fallback);
std::vector<int64_t> IntsAttribute(const Node& node, std::string_view name, std::vector<int64_t> fallback = {});

// "node '/layer1/Conv' (Conv)", or "node #12 (Relu)" where the file gives no name.
std::string Describe(const Graph& graph, NodeId id);

// " at batch 64", behind what one batch makes; "" where the batch is not known.
std::string AtBatch(const Graph& graph);

// Sets every tensor's producer and consumers from the nodes.
void LinkTensors(Graph& graph);

// One line per tensor and node, for tests:
//   input x float32 8x3x32x32
//   conv1 = Conv(x, w) -> y float32 8x64x32x32
std::string DumpGraph(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_GRAPH_H_
