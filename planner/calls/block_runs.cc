#include "planner/calls/block_runs.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/order/stable_sort.h"
#include "planner/code/wrapping.h"
#include "planner/measure/index.h"
#include "planner/measure/module_tree.h"

namespace onnx_mem {
namespace {

// What so many modules read is given to all of them: no flow from one to the next.
constexpr size_t kSharedReaders = 4;
// A module with more than one of so many nodes is taken apart, whatever crosses there.
constexpr int32_t kLargestBlock = 3;

// Tensors that depend on what is trained: a mask or positions that every block reads are no flow.
std::vector<bool> DependOnParameters(const Lowered& lowered) {
  std::vector<bool> depends(lowered.graph.tensors.size(), false);
  for (TensorId id(0); lowered.graph.tensors.contains(id); id = TensorId(id.value() + 1))
    depends[Index(id.value())] = lowered.kinds[id] == TensorKind::kParameter;
  for (const FrameworkNode& node : lowered.graph.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](TensorId id) { return id.valid() && depends[Index(id.value())]; });
    for (TensorId id : node.outputs) {
      if (id.valid()) depends[Index(id.value())] = any;
    }
  }
  return depends;
}

// How many tensors cross from before each node to it or behind.
std::vector<int32_t> CrossingsOf(const Lowered& lowered) {
  const FrameworkGraph& graph = lowered.graph;
  const std::vector<bool> depends = DependOnParameters(lowered);
  std::vector<int32_t> change(graph.nodes.size() + 2, 0);
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    const Tensor& tensor = graph.tensors[id];
    if (!tensor.producer.valid() || tensor.consumers.empty() || !depends[Index(id.value())]) continue;
    int32_t last = 0;
    std::set<std::string> readers;
    for (NodeId reader : tensor.consumers) {
      last = std::max(last, reader.value());
      readers.insert(graph.nodes[reader].module);
    }
    if (readers.size() >= kSharedReaders) continue;
    ++change[Index(tensor.producer.value()) + 1];
    --change[Index(last) + 1];
  }
  for (size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
  return change;
}

class BlockFinder {
 public:
  explicit BlockFinder(const Lowered& lowered) : tree_(lowered.graph), crossings_(CrossingsOf(lowered)) {
    most_nodes_ = static_cast<int32_t>(lowered.graph.nodes.size()) / kLargestBlock;
  }

  std::vector<Candidate> Find() {
    for (size_t child : CalledChildren(0)) Visit(child);
    StableSort(blocks_, [](const Candidate& a, const Candidate& b) { return a.first < b.first; });
    std::vector<Candidate> disjoint;
    for (Candidate& block : blocks_) {
      if (disjoint.empty() || block.first > disjoint.back().last) disjoint.push_back(std::move(block));
    }
    return disjoint;
  }

 private:
  // Through lists of modules, which are not called themselves.
  std::vector<size_t> CalledChildren(size_t index) const {
    std::vector<size_t> called;
    for (size_t child : tree_.modules()[index].children) {
      if (tree_.modules()[child].called) {
        called.push_back(child);
      } else {
        const std::vector<size_t> below = CalledChildren(child);
        called.insert(called.end(), below.begin(), below.end());
      }
    }
    return called;
  }

  void Visit(size_t index) {
    const Module& module = tree_.modules()[index];
    const std::vector<size_t> children = CalledChildren(index);
    if (!module.contiguous() || GiveOneTensor(children) || (module.count > most_nodes_ && children.size() > 1)) {
      for (size_t child : children) Visit(child);
      return;
    }
    if (tree_.CalledTwice(module)) return;
    Candidate block{.segment = {.modules = {module.path}, .nodes = {}}, .label = module.path};
    block.first = module.first;
    block.last = module.last;
    block.is_block = true;
    blocks_.push_back(std::move(block));
  }

  // Each of them that directly follows another reads one tensor from what was before.
  bool GiveOneTensor(const std::vector<size_t>& children) const {
    bool any = false;
    for (size_t i = 1; i < children.size(); ++i) {
      const Module &before = tree_.modules()[children[i - 1]], &after = tree_.modules()[children[i]];
      if (!after.contiguous() || !before.contiguous()) return false;
      if (after.first != before.last + 1) continue;
      if (crossings_[Index(after.first)] > 1) return false;
      any = true;
    }
    return any;
  }

  ModuleTree tree_;
  std::vector<int32_t> crossings_;
  int32_t most_nodes_ = 0;
  std::vector<Candidate> blocks_;
};

Candidate Joined(const std::vector<Candidate>& blocks, size_t from, size_t to) {
  Candidate run;
  for (size_t i = from; i <= to; ++i) run.segment.modules.push_back(blocks[i].segment.modules.front());
  run.first = blocks[from].first;
  run.last = blocks[to].last;
  run.is_run = to > from;
  run.is_block = from == to;
  run.label = from == to ? blocks[from].label : absl::StrCat(blocks[from].label, " to ", blocks[to].label);
  return run;
}

}  // namespace

std::vector<Candidate> BlocksOf(const Lowered& lowered) { return BlockFinder(lowered).Find(); }

std::vector<Candidate> RunsOf(const Lowered& lowered, const std::vector<Candidate>& blocks, size_t longest) {
  // A run is one where each two neighbours are.
  std::vector<bool> joins(blocks.size(), false);
  for (size_t i = 0; i + 1 < blocks.size(); ++i) {
    joins[i] = CanFollow(lowered, {blocks[i].first, blocks[i].last}, {blocks[i + 1].first, blocks[i + 1].last});
  }
  std::vector<Candidate> runs;
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t j = i; j < std::min(blocks.size(), i + longest); ++j) {
      if (j > i && !joins[j - 1]) break;
      runs.push_back(Joined(blocks, i, j));
    }
  }
  return runs;
}

}  // namespace onnx_mem
