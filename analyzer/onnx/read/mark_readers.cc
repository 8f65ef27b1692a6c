#include "analyzer/onnx/read/mark_readers.h"

#include <algorithm>

namespace onnx_mem {

void MarkReaders(onnx::GraphProto& graph, const std::string& tensor, std::string_view key) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (std::find(node.input().begin(), node.input().end(), tensor) == node.input().end()) continue;
    onnx::StringStringEntryProto& mark = *node.add_metadata_props();
    mark.set_key(std::string(key));
    mark.set_value(tensor);
  }
}

}  // namespace onnx_mem
