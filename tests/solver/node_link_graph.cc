#include "tests/solver/node_link_graph.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

// Files come from two writers, which name the same things differently.
const Json& First(const Json& object, const char* key, const char* other_key) {
  return object.contains(key) ? object.at(key) : object.at(other_key);
}

std::vector<int64_t> ListedOrder(const Json& json) {
  if (json.at("graph").contains("order")) return json.at("graph").at("order").get<std::vector<int64_t>>();
  std::vector<int64_t> order;
  for (const Json& node : json.at("nodes")) order.push_back(First(node, "id", "name").get<int64_t>());
  return order;
}

std::string NameOf(const Json& node) {
  return node.at("name").is_string() ? node.at("name").get<std::string>() : node.at("name").dump();
}

}  // namespace

absl::StatusOr<StepGraph> ReadNodeLinkGraph(const std::string& path) {
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError(absl::StrCat("not JSON: ", path));
  std::map<int64_t, const Json*> nodes;
  for (const Json& node : json.at("nodes")) nodes[First(node, "id", "name").get<int64_t>()] = &node;
  std::map<int64_t, std::vector<int64_t>> inputs;
  for (const Json& link : json.at("links")) {
    inputs[First(link, "target", "1").get<int64_t>()].push_back(First(link, "source", "0").get<int64_t>());
  }

  StepGraph graph;
  graph.name = json.at("graph").at("name").get<std::string>();
  std::map<int64_t, StepTensorId> tensor_of;
  for (int64_t id : ListedOrder(json)) {
    const Json& node = *nodes.at(id);
    const auto bytes = First(node, "cost_ram", "out_cost").get<int64_t>();
    tensor_of[id] = graph.tensors.Add({NameOf(node), bytes, StepTensorKind::kActivation});
  }
  for (int64_t id : ListedOrder(json)) {
    const Json& node = *nodes.at(id);
    StepOp op{NameOf(node), StepOpKind::kOrdered, First(node, "cost_cpu", "duration").get<int64_t>(), 0, {}, {}, ""};
    std::vector<int64_t> sources = inputs[id];
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    for (int64_t source : sources) op.inputs.push_back({tensor_of.at(source)});
    op.outputs = {tensor_of.at(id)};
    graph.ops.Add(std::move(op));
  }
  RETURN_IF_ERROR(VerifyStepGraph(graph));
  return graph;
}

}  // namespace onnx_mem
