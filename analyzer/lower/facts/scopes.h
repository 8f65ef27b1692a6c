// Node names and exporter metadata -> where in the framework's program a node ran: nn.Module path, enclosing module
// calls, framework operator call.
//
//   TorchScript  "/layer1/layer1.0/relu_1/Relu"        module "layer1.0.relu"  calls layer1, layer1.0, layer1.0.relu_1
//   dynamo       "['', 'blocks.0', 'blocks.0.act', 'gelu_3']"  module "blocks.0.act"  framework operator "gelu#gelu_3"
//
// Source: what torch.onnx writes, both exporters (checked on torch 2.15 exports).
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_SCOPES_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_SCOPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/graph/framework_graph.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// The elements of a Python list of strings as repr() prints it; empty for anything else.
std::vector<std::string> ParsePythonList(std::string_view text);

// Reads scopes of one graph's nodes. Nodes are to be looked up in file order: calls are distinguished by it.
class ScopeReader {
 public:
  explicit ScopeReader(const Graph& graph);
  CallScope Of(const Node& node);
  // True if the file has module paths of this exporter's kind (either of the two).
  bool has_modules() const { return has_modules_; }

 private:
  const CallScope& FromNodeName(std::string_view scope_path);
  CallScope ReadNodeName(std::string_view scope_path);
  std::string TruePath(const std::string& parent, const std::string& candidate) const;
  void LearnContainers(const Graph& graph);

  absl::flat_hash_set<std::string> modules_;                  // that own an initializer, and all their ancestors
  absl::flat_hash_set<std::string> owners_;                   // that own an initializer
  absl::flat_hash_set<std::string> seen_;                     // raw paths of node names so far
  absl::flat_hash_map<std::string, std::string> full_paths_;  // path as in node names -> with the lost container names
  absl::flat_hash_map<std::string, int> container_call_;      // container's raw path -> which call of it is running
  absl::flat_hash_set<std::string> working_;  // calls, as node names have them, that run operators of their own
  absl::flat_hash_set<std::string> again_;    // those of them that have numbered calls beside
  absl::flat_hash_map<std::string, CallScope> cache_;
  bool has_modules_ = false;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_SCOPES_H_
