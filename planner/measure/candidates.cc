#include "planner/measure/candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/ops/ops.h"
#include "analyzer/order/stable_sort.h"
#include "planner/measure/module_tree.h"
#include "planner/measure/node_runs.h"

namespace onnx_mem {
namespace {

// Runs of at most this many children; longer ones only as the whole container. Keeps the count linear in depth.
constexpr size_t kLongestModuleRun = 16;

class CandidateFinder {
 public:
  // `least_nodes`: that a module has.
  CandidateFinder(const Lowered& lowered, int32_t least_nodes) : tree_(lowered.graph), least_nodes_(least_nodes) {}

  CandidateSet Find() {
    MarkStages();
    Visit(0, /*inside_block=*/false);
    auto& list = result_.list;
    StableSort(list, [](const Candidate& a, const Candidate& b) {
      return a.first != b.first ? a.first < b.first : a.last > b.last;
    });
    // A wrapper and what it wraps are one choice: the outer name stays, since the visit is from the outside in.
    list.erase(
        std::unique(list.begin(), list.end(),
                    [](const Candidate& a, const Candidate& b) { return a.first == b.first && a.last == b.last; }),
        list.end());
    return std::move(result_);
  }

 private:
  void MarkStages() {
    size_t at = 0;
    while (tree_.modules()[at].children.size() == 1) at = tree_.modules()[at].children.front();
    stages_.insert(tree_.modules()[at].children.begin(), tree_.modules()[at].children.end());
  }

  void Visit(size_t index, bool inside_block) {
    const Module& module = tree_.modules()[index];
    const bool numbered = NumberedChildren(module);
    if (tree_.IsSequential(index)) AddRuns(module);
    for (size_t child : module.children) {
      const bool block = numbered && !inside_block;
      AddModule(child, block);
      Visit(child, inside_block || block);
    }
  }

  bool NumberedChildren(const Module& module) const {
    return module.children.size() > 1 && std::all_of(module.children.begin(), module.children.end(), [&](size_t child) {
             return ChildNumber(tree_.modules()[child].path).has_value();
           });
  }

  void AddModule(size_t index, bool block) {
    const Module& module = tree_.modules()[index];
    if (!module.called || !module.contiguous() || module.count < least_nodes_) return;
    if (tree_.CalledTwice(module)) {
      result_.called_twice.push_back(module.path);
      return;
    }
    Candidate candidate;
    candidate.segment.modules = {module.path};
    candidate.label = module.path;
    candidate.first = module.first;
    candidate.last = module.last;
    candidate.is_block = block;
    candidate.is_stage = stages_.contains(index);
    result_.list.push_back(std::move(candidate));
  }

  void AddRuns(const Module& module) {
    const std::vector<size_t>& children = module.children;
    if (module.calls.size() > 1 || tree_.CalledTwice(module)) return;
    for (size_t i = 0; i < children.size(); ++i) {
      for (size_t j = i + 1; j < std::min(children.size(), i + kLongestModuleRun); ++j) {
        if (i == 0 && j + 1 == children.size() && !module.path.empty()) continue;  // the module itself
        AddRun(module, i, j);
      }
    }
  }

  void AddRun(const Module& module, size_t from, size_t to) {
    Candidate candidate;
    for (size_t k = from; k <= to; ++k) candidate.segment.modules.push_back(tree_.modules()[module.children[k]].path);
    const std::string& last = candidate.segment.modules.back();
    candidate.label = absl::StrCat(candidate.segment.modules.front(), "-", last.substr(last.rfind('.') + 1));
    candidate.first = tree_.modules()[module.children[from]].first;
    candidate.last = tree_.modules()[module.children[to]].last;
    candidate.is_run = true;
    result_.list.push_back(std::move(candidate));
  }

  ModuleTree tree_;
  int32_t least_nodes_;
  std::set<size_t> stages_;
  CandidateSet result_;
};

// Whose results a segment may keep for its second run: aten.convolution, aten.mm and its like.
bool IsKeptProduct(const OpFacts& op) { return IsConvolution(op) || op.family == OpFamily::kMatmul; }

// Results can be kept where nothing overwrites them: torch refuses a kept tensor that has changed.
bool CanKeepProducts(const FrameworkGraph& graph, const Candidate& candidate) {
  bool products = false;
  for (int32_t i = candidate.first; i <= candidate.last; ++i) {
    const FrameworkNode& node = graph.nodes[NodeId(i)];
    products = products || IsKeptProduct(node.op);
    const auto inplace = node.attributes.find("inplace");
    if (inplace == node.attributes.end()) continue;
    for (TensorId id : node.inputs) {
      const NodeId producer = id.valid() ? graph.tensors[id].producer : NodeId();
      if (producer.valid() && IsKeptProduct(graph.nodes[producer].op)) return false;
    }
  }
  return products;
}

void AddKeepers(const FrameworkGraph& graph, CandidateSet& set) {
  std::vector<Candidate> all;
  for (Candidate& candidate : set.list) {
    const bool keeps = CanKeepProducts(graph, candidate);
    all.push_back(candidate);
    if (!keeps) continue;
    candidate.segment.keep = {"convolution", "addmm", "mm", "bmm"};
    candidate.label += " keeping products";
    candidate.is_block = candidate.is_stage = false;
    all.push_back(std::move(candidate));
  }
  set.list = std::move(all);
}

}  // namespace

// An in-place ReLU behind a layer of another segment has lost its input.
void DropUnrepeatable(const Lowered& lowered, CandidateSet& set) {
  std::erase_if(set.list, [&](const Candidate& c) {
    return EffectsOfRerun(lowered.graph, {c.first, c.last}).overwrites_inputs ||
           FunctionCutBy(lowered, {c.first, c.last}) != nullptr;
  });
}

CandidateSet FindCandidates(const Lowered& lowered, Granularity granularity) {
  if (granularity == Granularity::kOp) {
    CandidateSet set = FindCandidates(lowered);
    AddKeepers(lowered.graph, set);
    return set;
  }
  const bool has_modules = std::any_of(lowered.graph.nodes.begin(), lowered.graph.nodes.end(),
                                       [](const FrameworkNode& node) { return !node.module.empty(); });
  CandidateSet set = has_modules ? CandidateFinder(lowered, 2).Find()
                                 : CandidateSet{.list = NodeRuns(lowered.graph), .by_module = false};
  DropUnrepeatable(lowered, set);
  return set;
}

CandidateSet FindPlaces(const Lowered& lowered) {
  CandidateSet set = CandidateFinder(lowered, 1).Find();
  std::erase_if(set.list, [&](const Candidate& c) {
    return c.segment.modules.size() != 1 || FunctionCutBy(lowered, {c.first, c.last}) != nullptr;
  });
  return set;
}

}  // namespace onnx_mem
