// Fewer parameters that are trained. What comes before the first trained one keeps nothing for backward.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

using Names = absl::flat_hash_set<std::string>;

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (std::string_view(R"(\^$.|?*+()[]{}/)").find(c) != std::string_view::npos && c != '/') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// "layer1.0" of "layer1.0.weight", "/fc" of "/fc/MatMul".
std::string_view Before(std::string_view name, char separator) {
  const size_t at = name.rfind(separator);
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

Names TrainedNames(const Enacted& enacted) {
  Names names;
  for (const Parameter& parameter : enacted.parameters) {
    if (parameter.has_gradient) names.insert(parameter.name);
  }
  return names;
}

// Names in the file -> names in the module.
using FileNames = absl::flat_hash_map<std::string, std::string>;

FileNames TrainedInFile(const Enacted& enacted) {
  FileNames names;
  for (const Parameter& parameter : enacted.parameters) {
    if (parameter.has_gradient) names.emplace(parameter.file_name, parameter.name);
  }
  return names;
}

std::vector<std::string> TrainedInputs(const Graph& graph, const Node& node, const FileNames& trained) {
  std::vector<std::string> names;
  for (TensorId id : node.inputs) {
    const auto found = id.valid() ? trained.find(graph.tensors[id].name) : trained.end();
    if (found != trained.end()) names.push_back(found->second);
  }
  return names;
}

// Trained parameters of the module that runs last: those that the last node reads, their neighbours by name, and
// those of the nodes beside it (a linear layer over three dimensions is two nodes, "/fc/MatMul" and "/fc/Add").
Names HeadOf(const Graph& graph, const Names& trained, const FileNames& in_file) {
  Names head;
  std::string_view place;
  for (int32_t i = static_cast<int32_t>(graph.nodes.size()) - 1; i >= 0; --i) {
    const Node& node = graph.nodes[NodeId(i)];
    const std::vector<std::string> names = TrainedInputs(graph, node, in_file);
    if (names.empty()) continue;
    if (!head.empty() && (place.empty() || Before(node.name, '/') != place)) break;
    if (head.empty()) place = Before(node.name, '/');
    head.insert(names.begin(), names.end());
  }
  Names modules;
  for (const std::string& name : head) modules.insert(std::string(Before(name, '.')));
  modules.erase("");
  for (const std::string& name : trained) {
    if (modules.contains(std::string(Before(name, '.')))) head.insert(name);
  }
  return head;
}

// The module that holds `head` and nothing else, or "".
std::string ModuleOf(const Names& head, const Names& trained) {
  const std::string module(Before(*head.begin(), '.'));
  if (module.empty()) return "";
  const auto inside = [&](const std::string& name) { return absl::StartsWith(name, module + "."); };
  const auto count = std::count_if(trained.begin(), trained.end(), inside);
  const bool all = std::all_of(head.begin(), head.end(), inside);
  return all && count == static_cast<ptrdiff_t>(head.size()) ? module : "";
}

Proposal Frozen(const Situation& s, std::string what, std::string pattern, std::string cost) {
  Proposal change{std::move(what), {"--freeze", pattern}, std::move(cost), Price::kTraining, s.workload};
  change.workload.run.freeze.push_back(std::move(pattern));
  return change;
}

}  // namespace

std::vector<Proposal> ProposeFrozenPrefix(const Situation& s) {
  if (s.workload.mode != Mode::kTraining) return {};
  const Names trained = TrainedNames(*s.enacted);
  const Names head = HeadOf(s.model->graph, trained, TrainedInFile(*s.enacted));
  if (head.empty() || head.size() == trained.size()) return {};
  if (const std::string module = ModuleOf(head, trained); !module.empty()) {
    return {Frozen(s, absl::StrCat("train ", module, " alone"), absl::StrCat("^(?!", Escaped(module), "\\.)"),
                   "the rest stays as it was")};
  }
  std::vector<std::string> names;
  for (const std::string& name : head) names.push_back(Escaped(name));
  std::sort(names.begin(), names.end());
  return {Frozen(s, "train the last layer alone", absl::StrCat("^(?!(?:", absl::StrJoin(names, "|"), ")$)"),
                 "the rest stays as it was")};
}

// A matrix that is a large part of all parameters (a fully connected layer, an embedding).
std::vector<Proposal> ProposeFrozenMatrix(const Situation& s) {
  constexpr int64_t kLargePart = 4;  // at least one in so many
  if (s.workload.mode != Mode::kTraining) return {};
  const Parameter* largest = nullptr;
  for (const Parameter& parameter : s.enacted->parameters) {
    if (parameter.has_gradient && (largest == nullptr || parameter.bytes > largest->bytes)) largest = &parameter;
  }
  if (largest == nullptr || largest->bytes == 0 || largest->bytes < s.enacted->parameter_bytes / kLargePart) return {};
  return {Frozen(s, absl::StrCat("freeze ", largest->name), absl::StrCat("^", Escaped(largest->name), "$"),
                 absl::StrCat(largest->bytes * 100 / s.enacted->parameter_bytes, " % of the parameters in it"))};
}

}  // namespace onnx_mem
