// A model whose nodes tell what they hold, for viewers that show a node's documentation and metadata.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_ANNOTATED_MODEL_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_ANNOTATED_MODEL_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace onnx_mem {

// What a copy of the file tells of a node.
struct NodeNote {
  std::string text;                                                // for a reader
  std::vector<std::pair<std::string, std::string>> metadata = {};  // for programs
};

// The bytes of a model -> the same with a note on each node of its graph that has one, by name (a node without a name:
// by that of its first output). Functions, subgraphs and references to external data stay as they are. "" where there
// is no graph.
std::string AnnotatedModel(const std::string& model_bytes, const std::map<std::string, NodeNote>& notes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_ANNOTATED_MODEL_H_
