// The modules of a lowered graph as a tree, in the order in which they run.
#ifndef ONNX_MEM_PLANNER_MEASURE_MODULE_TREE_H_
#define ONNX_MEM_PLANNER_MEASURE_MODULE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/graph/framework_graph.h"

namespace onnx_mem {

struct Module {
  std::string path = {};
  std::vector<size_t> children = {};  // in order of their first node
  int32_t first = 0;
  int32_t last = 0;
  int32_t count = 0;      // nodes of it and of what is inside
  int32_t own_count = 0;  // nodes of it alone
  bool called = false;    // a module with a forward; a ModuleList is never called
  std::set<std::string> calls = {};
  bool contiguous() const { return last - first + 1 == count; }
};

// The number that a child of a list or an nn.Sequential has for a name.
std::optional<int> ChildNumber(std::string_view path);

// Entry 0 is the root.
class ModuleTree {
 public:
  explicit ModuleTree(const FrameworkGraph& graph);

  const std::vector<Module>& modules() const { return modules_; }

  // Every child takes what the child before it made, as nn.Sequential runs them, and nothing else happens in between.
  bool IsSequential(size_t index) const;

  // Weights of it are read by two calls each: the module itself ran twice, back to back.
  bool CalledTwice(const Module& module) const;

 private:
  bool ReadsWeights(const FrameworkNode& node) const;
  size_t Find(const std::string& path, size_t parent, int32_t node);
  void AddNode(const FrameworkNode& node, int32_t index);
  void Touch(size_t at, int32_t index);
  // Activations that the module reads and did not make.
  std::set<TensorId> Incoming(const Module& module) const;

  const FrameworkGraph& graph_;
  std::vector<Module> modules_;
  std::map<std::string, size_t> index_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_MEASURE_MODULE_TREE_H_
