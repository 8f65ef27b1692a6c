#include "analyzer/lower/facts/scopes.h"

#include <charconv>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/run/limits.h"

namespace onnx_mem {
namespace {

constexpr std::string_view kNoModule = "_empty_nn_module_stack_from_metadata_hook";

std::string Join(const std::string& parent, std::string_view child) {
  return parent.empty() ? std::string(child) : absl::StrCat(parent, ".", View(child));
}

std::string ParentOf(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

struct Counted {
  std::string_view base;
  int call = 0;  // 0: the name has no call number
};

// "relu_1" -> "relu", 1.
Counted CountedCall(std::string_view name) {
  const size_t underscore = name.rfind('_');
  if (underscore == std::string_view::npos || underscore == 0 || underscore + 1 == name.size()) return {name, 0};
  const std::string_view digits = name.substr(underscore + 1);
  int call = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), call);
  if (error != std::errc() || end != digits.data() + digits.size() || call < 1 || digits[0] == '0') return {name, 0};
  return {name.substr(0, underscore), call};
}

// "aten.scaled_dot_product_attention.default" -> "scaled_dot_product_attention". x + 1 in code is add.Tensor:
// add.Scalar, which tells a decomposition, is kept apart.
std::string AtenName(std::string_view overload) {
  if (overload == "aten.add.Scalar") return "add.Scalar";
  const std::vector<std::string> parts = absl::StrSplit(View(overload), '.');  // a view of nothing has no parts
  if (parts.empty()) return {};
  return parts.size() >= 2 ? parts[1] : parts[0];
}

CallScope FromStack(const std::vector<std::string>& names, std::string_view aten) {
  CallScope scope;
  if (names.empty()) return scope;
  for (size_t i = 0; i + 1 < names.size() && scope.calls.size() < limits::kDeepestModules; ++i) {
    if (names[i].empty() || names[i] == kNoModule) continue;
    scope.calls.push_back(names[i]);
  }
  if (!scope.calls.empty()) scope.module = scope.calls.back();
  scope.framework_op = absl::StrCat(AtenName(aten), "#", names.back());
  return scope;
}

// ": Net/layer1: torch.nn.Sequential/gelu_3: aten.gelu.default": name and class of each level.
CallScope FromNamespace(std::string_view text) {
  std::vector<std::string> names;
  std::string last_class;
  for (absl::string_view level : absl::StrSplit(View(text), '/')) {
    const size_t colon = level.find(": ");
    names.emplace_back(level.substr(0, colon));
    last_class = colon == absl::string_view::npos ? std::string() : std::string(level.substr(colon + 2));
  }
  return FromStack(names, last_class);
}

const std::string* Find(const Node& node, std::string_view key) {
  auto it = node.metadata.find(key);
  return it == node.metadata.end() ? nullptr : &it->second;
}

// For each module in `owners`, itself and its ancestors.
absl::flat_hash_set<std::string> WithAncestors(const absl::flat_hash_set<std::string>& owners) {
  absl::flat_hash_set<std::string> modules;
  for (std::string path : owners) {
    while (!path.empty() && modules.insert(path).second) path = ParentOf(path);
  }
  return modules;
}

// The prefixes of `path` as they stand in `full`, if full's parts are path's with others in between and the same end:
// a.fc in d.a.fc gives a -> d.a, a.fc -> d.a.fc.
std::vector<std::pair<std::string, std::string>> AlignPrefixes(const std::string& path, const std::string& full) {
  const std::vector<std::string> parts = absl::StrSplit(path, '.'), full_parts = absl::StrSplit(full, '.');
  std::vector<std::pair<std::string, std::string>> prefixes;
  size_t next = 0;
  std::string prefix, full_prefix;
  for (const std::string& part : full_parts) {
    full_prefix = Join(full_prefix, part);
    if (next == parts.size() || part != parts[next]) continue;
    prefix = Join(prefix, part);
    prefixes.emplace_back(prefix, full_prefix);
    ++next;
  }
  if (next != parts.size() || prefixes.back().second != full) return {};
  return prefixes;
}

std::string_view ScopePath(const Node& node) {
  if (node.name.empty() || node.name[0] != '/') return {};
  const size_t slash = node.name.rfind('/');
  return std::string_view(node.name).substr(1, slash == 0 ? 0 : slash - 1);
}

}  // namespace

std::vector<std::string> ParsePythonList(std::string_view text) {
  std::vector<std::string> items;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return items;
  size_t i = 1;
  while (i + 1 < text.size()) {
    const char quote = text[i];
    if (quote != '\'' && quote != '"') {
      ++i;
      continue;
    }
    std::string item;
    for (++i; i < text.size() && text[i] != quote; ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      item.push_back(text[i]);
    }
    items.push_back(std::move(item));
    ++i;
  }
  return items;
}

ScopeReader::ScopeReader(const Graph& graph) {
  for (TensorId id : graph.initializers) {
    const std::string& name = graph.tensors[id].name;
    if (absl::StrContains(name, "::") || absl::StrContains(name, "/")) continue;
    std::string owner = ParentOf(name);
    if (!owner.empty()) owners_.insert(std::move(owner));
  }
  modules_ = WithAncestors(owners_);
  LearnContainers(graph);
}

// A ModuleDict does not show in node names: /a/fc/Gemm reads d.a.fc.weight.
void ScopeReader::LearnContainers(const Graph& graph) {
  absl::flat_hash_set<std::string> tried;
  absl::flat_hash_set<std::string> working;
  for (const Node& node : graph.nodes) {
    const std::string_view path = ScopePath(node);
    if (path.empty()) continue;
    working.insert(ReadNodeName(path).calls.back());
    for (TensorId input : node.inputs) {
      if (!input.valid() || graph.tensors[input].role != TensorRole::kInitializer) continue;
      const std::string owner = ParentOf(graph.tensors[input].name);
      if (!owners_.contains(owner)) continue;
      const std::string module = ReadNodeName(path).module;
      if (module.empty() || modules_.contains(module) || owner.size() <= module.size()) continue;
      if (!tried.insert(absl::StrCat(module, " ", owner)).second) continue;
      for (auto& [prefix, full] : AlignPrefixes(module, owner)) full_paths_.emplace(prefix, full);
    }
  }
  seen_.clear();
  container_call_.clear();
  for (const std::string& call : working) {
    const Counted counted = CountedCall(call);
    const bool is_again = counted.call > 0 && working.contains(View(counted.base));
    if (is_again) again_.emplace(counted.base);
  }
  working_ = std::move(working);
}

CallScope ScopeReader::Of(const Node& node) {
  if (const std::string* names = Find(node, "pkg.torch.onnx.name_scopes")) {
    const std::string* classes = Find(node, "pkg.torch.onnx.class_hierarchy");
    const std::vector<std::string> list = classes ? ParsePythonList(*classes) : std::vector<std::string>();
    has_modules_ = true;
    return FromStack(ParsePythonList(*names), list.empty() ? std::string_view() : std::string_view(list.back()));
  }
  if (const std::string* text = Find(node, "namespace"); text != nullptr && absl::StrContains(*text, ": ")) {
    has_modules_ = true;
    return FromNamespace(*text);
  }
  const std::string_view path = ScopePath(node);
  if (path.empty()) return {};
  has_modules_ = true;
  return FromNodeName(path);
}

const CallScope& ScopeReader::FromNodeName(std::string_view scope_path) {
  auto it = cache_.find(View(scope_path));
  if (it != cache_.end()) return it->second;
  CallScope scope = ReadNodeName(scope_path);
  if (!full_paths_.empty()) {
    for (std::string prefix = scope.module; !prefix.empty(); prefix = ParentOf(prefix)) {
      auto full = full_paths_.find(prefix);
      if (full == full_paths_.end()) continue;
      scope.module = absl::StrCat(full->second, scope.module.substr(prefix.size()));
      break;
    }
  }
  return cache_.emplace(std::string(scope_path), std::move(scope)).first->second;
}

// `candidate` is the path of a segment that may carry a call number: "layer1.0.relu_1". The number is taken off unless
// a module really has that name.
std::string ScopeReader::TruePath(const std::string& parent, const std::string& candidate) const {
  if (modules_.contains(candidate)) return candidate;
  const std::string_view leaf =
      std::string_view(candidate).substr(parent.empty() || candidate.size() <= parent.size() ? 0 : parent.size() + 1);
  const Counted counted = CountedCall(leaf);
  if (counted.call == 0) return candidate;
  std::string stripped = candidate.substr(0, candidate.size() - (leaf.size() - counted.base.size()));
  return modules_.contains(stripped) || seen_.contains(stripped) ? stripped : candidate;
}

CallScope ScopeReader::ReadNodeName(std::string_view scope_path) {
  CallScope scope;
  std::string raw, raw_parent, path, parent;
  absl::string_view previous;
  for (absl::string_view segment : absl::StrSplit(View(scope_path), '/')) {
    // Children of a Sequential repeat its name: /layer1/layer1.0 is layer1.0, not layer1.layer1.0.
    const bool repeats = !previous.empty() && absl::StartsWith(segment, absl::StrCat(previous, "."));
    const std::string& raw_base = repeats ? raw_parent : raw;
    const std::string& base = repeats ? parent : path;
    std::string next_raw = Join(raw_base, std::string_view(segment.data(), segment.size()));
    std::string next = TruePath(base, Join(base, std::string_view(segment.data(), segment.size())));
    if (!repeats) {
      raw_parent = raw;
      parent = path;
    }
    raw = std::move(next_raw);
    path = std::move(next);
    scope.calls.push_back(raw);
    seen_.insert(path);
    previous = segment;
  }
  scope.module = path;
  // A second call of a container shows only in its leaves: /b/b.0_1 follows /b/b.7. One that runs operators of its own
  // would have numbers on them: where it has none, it is one call that calls the leaf again.
  if (scope.calls.size() >= 2) {
    std::string& container = scope.calls[scope.calls.size() - 2];
    if (working_.contains(container) && !again_.contains(container)) return scope;
    const int call = CountedCall(std::string_view(previous.data(), previous.size())).call;
    if (owners_.contains(path)) container_call_[container] = raw == path ? 0 : call;
    auto running = container_call_.find(container);
    if (running != container_call_.end() && running->second > 0) absl::StrAppend(&container, "_", running->second);
  }
  return scope;
}

}  // namespace onnx_mem
