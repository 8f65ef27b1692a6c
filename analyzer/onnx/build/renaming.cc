#include "analyzer/onnx/build/renaming.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx_mem {

void Renamer::Collect(const onnx::GraphProto& graph) {
  for (const auto& input : graph.input()) taken_.insert(input.name());
  for (const auto& tensor : graph.initializer()) taken_.insert(tensor.name());
  for (const auto& node : graph.node()) {
    taken_.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) Collect(attribute.g());
      for (const auto& body : attribute.graphs()) Collect(body);
    }
  }
}

std::string Renamer::Fresh(const std::string& name) {
  std::string fresh = name;
  for (int i = 1; !taken_.insert(fresh).second; ++i) fresh = absl::StrCat(name, "_", i);
  return fresh;
}

void Renamer::Rename(onnx::NodeProto& node, const ValueNames& names, const AttributesByName& attributes) {
  for (auto* list : {node.mutable_input(), node.mutable_output()}) {
    for (std::string& name : *list) {
      if (const auto it = names.find(name); it != names.end()) name = it->second;
    }
  }
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.ref_attr_name().empty()) {
      const auto it = attributes.find(attribute.ref_attr_name());
      if (it == attributes.end()) continue;  // not given: the operator's own default
      onnx::AttributeProto& given = *bound.Add();
      given = *it->second;
      given.set_name(attribute.name());
      continue;
    }
    if (attribute.has_g()) RenameBody(*attribute.mutable_g(), names, attributes);
    for (auto& body : *attribute.mutable_graphs()) RenameBody(body, names, attributes);
    bound.Add()->Swap(&attribute);
  }
  node.mutable_attribute()->Swap(&bound);
}

void Renamer::RenameBody(onnx::GraphProto& body, ValueNames names, const AttributesByName& attributes) {
  const auto define = [&](std::string& name) {
    if (name.empty()) return;
    std::string fresh = Fresh(name);
    names[name] = fresh;
    name = std::move(fresh);
  };
  for (auto& input : *body.mutable_input()) define(*input.mutable_name());
  for (auto& tensor : *body.mutable_initializer()) define(*tensor.mutable_name());
  for (const auto& node : body.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) names[output] = Fresh(output);
    }
  }
  for (auto& node : *body.mutable_node()) Rename(node, names, attributes);
  for (auto& output : *body.mutable_output()) {
    if (const auto it = names.find(output.name()); it != names.end()) output.set_name(it->second);
  }
}

}  // namespace onnx_mem
