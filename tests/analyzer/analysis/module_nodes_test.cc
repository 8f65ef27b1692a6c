#include "analyzer/analysis/module_nodes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

std::vector<int32_t> In(const ModuleNodes& modules, std::string_view module) {
  const absl::Span<const int32_t> nodes = modules.In(module);
  return {nodes.begin(), nodes.end()};
}

// "layer1" holds layer1 and what is below it, not layer10 nor layer1-old; the root holds all, also what has no module.
TEST(ModuleNodes, GoByWholePartsOfAPath) {
  FrameworkGraph graph;
  for (const char* module : {"layer1", "layer1.0.conv", "layer10", "layer1-old", "", "layer1.0"}) {
    FrameworkNode node;
    node.module = module;
    graph.nodes.Add(std::move(node));
  }
  const ModuleNodes modules(graph);
  EXPECT_EQ(In(modules, "layer1"), (std::vector<int32_t>{0, 1, 5}));
  EXPECT_EQ(In(modules, "layer1.0"), (std::vector<int32_t>{1, 5}));
  EXPECT_EQ(In(modules, ""), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(In(modules, "layer").empty());
  for (const std::string module : {"layer1", "layer1.0", "layer10", ""}) {
    std::vector<int32_t> requested;
    for (int32_t i = 0; i < 6; ++i) {
      if (RunsIn(graph.nodes[NodeId(i)], module)) requested.push_back(i);
    }
    EXPECT_EQ(In(modules, module), requested) << module;
  }
}

}  // namespace
}  // namespace onnx_mem
