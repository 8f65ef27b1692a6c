#include "analyzer/onnx/build/named_tensors.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/onnx/build/bind.h"
#include "analyzer/onnx/read/short_name.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

Tensor NamedTensors::MakeTensor(const std::string& name, TensorRole role) const {
  Tensor tensor;
  tensor.name = ShortName(name);
  tensor.role = role;
  if (const auto it = facts_.values.find(name); it != facts_.values.end()) {
    tensor.dtype = it->second.dtype;
    tensor.shape = it->second.shape;
    tensor.value = it->second.value;
    tensor.upper_bound = it->second.upper_bound;
  }
  return tensor;
}

// Branches of different Ifs may use one name for different values; a graph's tensors are distinguished by theirs.
std::string NamedTensors::UniqueName(const std::string& name) {
  NamedTensors& owner = Owner();
  if (!owner.ids_.contains(name)) return name;
  std::string unique;
  int64_t& number = owner.last_[name];  // what is taken stays taken: no number is tried twice
  do {
    unique = absl::StrCat(name, "/", ++number);
  } while (owner.ids_.contains(unique));
  return unique;
}

TensorId NamedTensors::AddMade(const std::string& name, Tensor tensor) {
  NamedTensors& owner = Owner();
  tensor.name = UniqueName(name);
  const TensorId id = graph_.tensors.Add(std::move(tensor));
  owner.ids_.emplace(owner.made_names_.emplace_back(graph_.tensors[id].name), id);
  return id;
}

TensorId NamedTensors::Define(const std::string& name, TensorRole role) {
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  Tensor tensor = MakeTensor(name, role);
  return ids_[name] = SharesGraph() ? AddMade(name, std::move(tensor)) : graph_.tensors.Add(std::move(tensor));
}

void NamedTensors::Rename(TensorId id, const std::string& name) {
  graph_.tensors[id].name = SharesGraph() ? UniqueName(name) : name;
  ids_[name] = id;
}

TensorId NamedTensors::Find(const std::string& name) {
  if (name.empty()) return TensorId();
  if (const auto it = ids_.find(name); it != ids_.end()) return it->second;
  if (outer_ == nullptr) return TensorId();
  const TensorId there = outer_->Find(name);
  if (!there.valid() || SharesGraph()) return there;
  Tensor captured = outer_->graph_.tensors[there];
  captured.name = name;
  captured.role = TensorRole::kInput;
  captures_.push_back(there);
  const TensorId here = graph_.tensors.Add(std::move(captured));
  graph_.inputs.push_back(here);
  return ids_[name] = here;
}

void NamedTensors::AddInputs() {
  const InputNames stored = StoredInputs(proto_);
  for (const auto& input : proto_.input()) {
    if (stored.contains(input.name()) || ids_.contains(input.name())) continue;
    graph_.inputs.push_back(Define(input.name(), TensorRole::kInput));
  }
}

void NamedTensors::AddInitializers() {
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !ids_.contains(name)) graph_.initializers.push_back(Define(name, TensorRole::kInitializer));
  };
  for (const auto& tensor : proto_.initializer()) add(tensor.name());
  for (const auto& tensor : proto_.sparse_initializer()) add(tensor.values().name());
}

void NamedTensors::AddOutputs() {
  for (const auto& output : proto_.output()) {
    if (const TensorId id = Find(output.name()); id.valid()) graph_.outputs.push_back(id);
  }
}

}  // namespace onnx_mem
