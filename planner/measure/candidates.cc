#include "planner/measure/candidates.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analysis/segments.h"
#include "analyzer/ops/ops.h"
#include "planner/measure/node_runs.h"

namespace onnx_mem {
namespace {

// Runs of at most this many children; longer ones only as the whole container. Keeps the count linear in depth.
constexpr size_t kLongestRun = 16;

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

// A call as scopes name it ("layer1.0.relu_1", "net@1") against the path of a module; containers that node names do
// not show ("a.fc" for "d.a.fc") are allowed for.
bool IsCallOf(std::string_view call, std::string_view path) {
  const auto same = [&](std::string_view text) {
    return path == text || (path.size() > text.size() && path.substr(path.size() - text.size()) == text &&
                            path[path.size() - text.size() - 1] == '.');
  };
  if (same(call)) return true;
  const size_t mark = call.find_last_of("_@");
  if (mark == std::string_view::npos || mark + 1 == call.size()) return false;
  const std::string_view digits = call.substr(mark + 1);
  return digits.find_first_not_of("0123456789") == std::string_view::npos && same(call.substr(0, mark));
}

std::optional<int> ChildNumber(std::string_view path) {
  const size_t dot = path.rfind('.');
  const std::string_view leaf = dot == std::string_view::npos ? path : path.substr(dot + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(leaf.data(), leaf.data() + leaf.size(), number);
  if (error != std::errc() || end != leaf.data() + leaf.size()) return std::nullopt;
  return number;
}

// The tree of modules that nodes name; entry 0 is the root.
class ModuleTree {
 public:
  explicit ModuleTree(const FrameworkGraph& graph) : graph_(graph) {
    modules_.push_back({.called = true});
    for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes.size()); ++i) AddNode(graph.nodes[NodeId(i)], i);
  }

  const std::vector<Module>& modules() const { return modules_; }

  // Every child takes what the child before it made, as nn.Sequential runs them, and nothing else happens in between.
  bool IsSequential(size_t index) const {
    const Module& module = modules_[index];
    if (!module.called || module.own_count > 0 || module.children.size() < 2) return false;
    int before = -1;
    for (size_t child : module.children) {
      const std::optional<int> number = ChildNumber(modules_[child].path);
      if (!number || *number <= before || !modules_[child].contiguous() || !modules_[child].called) return false;
      before = *number;
    }
    for (size_t i = 0; i < module.children.size(); ++i) {
      const std::set<TensorId> inputs = Incoming(modules_[module.children[i]]);
      if (inputs.size() != 1) return false;
      if (i > 0) {
        const Module& previous = modules_[module.children[i - 1]];
        const NodeId producer = graph_.tensors[*inputs.begin()].producer;
        if (!producer.valid() || producer.value() < previous.first || producer.value() > previous.last) return false;
      }
    }
    return true;
  }

  // Weights of it are read by two calls each: the module itself ran twice, back to back.
  bool CalledTwice(const Module& module) const {
    std::map<std::string, std::set<std::string>> calls_of;
    for (int32_t i = module.first; i <= module.last; ++i) {
      const FrameworkNode& node = graph_.nodes[NodeId(i)];
      if (!ReadsWeights(node) || node.calls.empty()) continue;
      calls_of[node.module].insert(node.calls.back());
    }
    return module.calls.size() > 1 ||
           (!calls_of.empty() &&
            std::all_of(calls_of.begin(), calls_of.end(), [](const auto& entry) { return entry.second.size() > 1; }));
  }

 private:
  bool ReadsWeights(const FrameworkNode& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](TensorId id) { return id.valid() && graph_.tensors[id].role == TensorRole::kInitializer; });
  }

  size_t Find(const std::string& path, size_t parent, int32_t node) {
    const auto [entry, is_new] = index_.try_emplace(path, modules_.size());
    if (is_new) {
      modules_.push_back({.path = path, .first = node});
      modules_[parent].children.push_back(entry->second);
    }
    return entry->second;
  }

  void AddNode(const FrameworkNode& node, int32_t index) {
    size_t at = 0;
    Touch(0, index);
    size_t call = 0;
    for (size_t end = node.module.find('.'); !node.module.empty(); end = node.module.find('.', end + 1)) {
      at = Find(node.module.substr(0, end), at, index);
      Touch(at, index);
      if (call < node.calls.size() && IsCallOf(node.calls[call], modules_[at].path)) {
        modules_[at].called = true;
        modules_[at].calls.insert(node.calls[call++]);
      }
      if (end == std::string::npos) break;
    }
    ++modules_[at].own_count;
  }

  void Touch(size_t at, int32_t index) {
    modules_[at].last = index;
    ++modules_[at].count;
  }

  // Activations that the module reads and did not make.
  std::set<TensorId> Incoming(const Module& module) const {
    std::set<TensorId> inputs;
    for (int32_t i = module.first; i <= module.last; ++i) {
      for (TensorId id : graph_.nodes[NodeId(i)].inputs) {
        if (!id.valid()) continue;
        const Tensor& tensor = graph_.tensors[id];
        if (tensor.role == TensorRole::kInitializer || tensor.role == TensorRole::kConstant) continue;
        if (tensor.producer.valid() && tensor.producer.value() >= module.first) continue;
        inputs.insert(id);
      }
    }
    return inputs;
  }

  const FrameworkGraph& graph_;
  std::vector<Module> modules_;
  std::map<std::string, size_t> index_;
};

class CandidateFinder {
 public:
  // `least_nodes`: that a module has.
  CandidateFinder(const Lowered& lowered, int32_t least_nodes) : tree_(lowered.graph), least_nodes_(least_nodes) {}

  CandidateSet Find() {
    MarkStages();
    Visit(0, /*inside_block=*/false);
    auto& list = result_.list;
    std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
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
      for (size_t j = i + 1; j < std::min(children.size(), i + kLongestRun); ++j) {
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

// A range that begins by writing over what it reads from outside (an in-place ReLU behind a layer of another segment)
// cannot run again: its input is gone. Nor can a part of an autograd.Function.
void DropUnrepeatable(const Lowered& lowered, CandidateSet& set) {
  std::erase_if(set.list, [&](const Candidate& c) {
    return EffectsOfRerun(lowered.graph, {c.first, c.last}).overwrites_inputs ||
           FunctionCutBy(lowered, {c.first, c.last}) != nullptr;
  });
}

}  // namespace

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
