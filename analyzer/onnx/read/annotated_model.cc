#include "analyzer/onnx/read/annotated_model.h"

#include "onnx/onnx_pb.h"

namespace onnx_mem {

std::string AnnotatedModel(const std::string& model_bytes, const std::map<std::string, NodeNote>& notes) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(model_bytes.data(), static_cast<int>(model_bytes.size())) || !model.has_graph()) return "";
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    const bool named = !node.name().empty() || node.output().empty();
    const auto note = notes.find(named ? node.name() : node.output(0));
    if (note == notes.end()) continue;
    node.set_doc_string(note->second.text);
    for (const auto& [key, value] : note->second.metadata) {
      onnx::StringStringEntryProto& entry = *node.add_metadata_props();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  return model.SerializeAsString();
}

}  // namespace onnx_mem
