#include "analyzer/onnx/load/renaming.h"

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
  if (taken_.insert(name).second) return name;
  std::string fresh;
  int64_t& number = last_[name];  // what is taken stays taken: no number is tried twice
  do {
    fresh = absl::StrCat(name, "_", ++number);
  } while (!taken_.insert(fresh).second);
  return fresh;
}

void Renamer::Rename(onnx::NodeProto& node, ValueNames& names, const AttributesByName& attributes) {
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

void Renamer::RenameBody(onnx::GraphProto& body, ValueNames& names, const AttributesByName& attributes) {
  Shadowed shadowed;
  const auto define = [&](const std::string& name) {
    const auto [it, added] = names.try_emplace(name);
    shadowed.emplace_back(name, added ? std::nullopt : std::optional<std::string>(std::move(it->second)));
    return it->second = Fresh(name);
  };
  for (auto& input : *body.mutable_input()) {
    if (!input.name().empty()) input.set_name(define(input.name()));
  }
  for (auto& tensor : *body.mutable_initializer()) {
    if (!tensor.name().empty()) tensor.set_name(define(tensor.name()));
  }
  for (const auto& node : body.node()) {
    for (const std::string& output : node.output()) {
      if (!output.empty()) define(output);
    }
  }
  for (auto& node : *body.mutable_node()) Rename(node, names, attributes);
  for (auto& output : *body.mutable_output()) {
    if (const auto it = names.find(output.name()); it != names.end()) output.set_name(it->second);
  }
  for (; !shadowed.empty(); shadowed.pop_back()) {
    auto& [name, before] = shadowed.back();
    if (before) {
      names[name] = *std::move(before);
    } else {
      names.erase(name);
    }
  }
}

}  // namespace onnx_mem
