// What a model's file says, once ONNX is left behind: no protobuf type passes this point. Built by analyzer/onnx (or by
// tests from text), immutable afterwards. analyzer/lower makes of it what the framework runs (framework_graph.h).
#ifndef ONNX_MEM_ANALYZER_GRAPH_GRAPH_H_
#define ONNX_MEM_ANALYZER_GRAPH_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/dag.h"
#include "analyzer/graph/program_signature.h"

namespace onnx_mem {

struct Graph;
struct BoundRecord;  // analyzer/record

// An ONNX operator, as in the file.
struct Node : AnyNode {
  std::string domain;     // "" for ai.onnx
  int since_version = 0;  // version of the operator's schema that the model's opset selects; 0: unknown
  absl::btree_map<std::string, std::string, std::less<>> metadata;  // exporter's metadata_props
  std::string lost_parameter;  // of the module that it runs in, a parameter of which the file has no tensor; "": none
  // Bodies of If (then, else), Loop and Scan (body). A body's tensors are its own; `captures` names the outer ones.
  std::vector<std::shared_ptr<const Graph>> subgraphs;
  TensorIds captures;           // tensors of this graph that the bodies read
  bool shapes_assumed = false;  // outputs come from value_info or are unknown: no schema knew this operator
};

// Nodes stand in file order.
struct Graph : Dag<Node> {
  int opset = 0;                              // version of the standard operators that the file imports; 0: unknown
  int64_t batch = 0;                          // dim 0 of the inputs, as they are bound; 0: unknown
  ProgramSignature signature;                 // of the program that was exported; empty where the file has none
  std::shared_ptr<const BoundRecord> record;  // what the running model was seen to do; null where nobody recorded it
};

// " at batch 64", behind what one batch makes; "" where the batch is not known.
inline std::string AtBatch(const Graph& graph) {
  return graph.batch > 0 ? absl::StrCat(" at batch ", graph.batch) : "";
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_GRAPH_H_
