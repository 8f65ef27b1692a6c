#include "analyzer/lower/facts/parameter_paths.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/lower/facts/parameters.h"
#include "analyzer/ops/ops.h"

namespace onnx_mem {
namespace {

// The parameter's part in an operator, by the place that it is read at; a recurrent layer's are those of one direction.
struct PathPart {
  std::string_view op;
  std::array<std::string_view, 4> words;
};
constexpr auto kParts = std::to_array<PathPart>({
    {"linear", {"", "weight", "bias", ""}},
    {"addmm", {"", "weight", "bias", ""}},
    {"conv", {"", "weight", "bias", ""}},
    {"conv_transpose", {"", "weight", "bias", ""}},
    {"batch_norm", {"", "weight", "bias", ""}},
    {"instance_norm", {"", "weight", "bias", ""}},
    {"layer_norm", {"", "weight", "bias", ""}},
    {"group_norm", {"", "weight", "bias", ""}},
    {"lstm", {"", "weight_ih", "weight_hh", "bias"}},
    {"gru", {"", "weight_ih", "weight_hh", "bias"}},
    {"rnn", {"", "weight_ih", "weight_hh", "bias"}},
    {"add", {"bias", "bias", "", ""}},
});

// Who reads a parameter, and as what.
struct Use {
  std::string module;
  std::string word = "weight";
};

std::string_view WordOf(const FrameworkNode& node, TensorId id) {
  const auto* part = std::find_if(kParts.begin(), kParts.end(), [&](const PathPart& row) { return row.op == node.op; });
  if (part == kParts.end()) return "weight";
  for (size_t i = 0; i < std::min(node.inputs.size(), part->words.size()); ++i) {
    if (node.inputs[i] == id && !part->words[i].empty()) return part->words[i];
  }
  return "weight";
}

// The module of the first reader that has one, and the part in the first reader that is no view.
Use UseOf(const FrameworkGraph& graph, TensorId id) {
  constexpr int kMostViews = 8;
  Use use;
  for (int i = 0; i < kMostViews && !graph.tensors[id].consumers.empty(); ++i) {
    const FrameworkNode& reader = graph.nodes[graph.tensors[id].consumers.front()];
    if (use.module.empty()) use.module = reader.module;
    // What reads a parameter in another shape or type says what it is for.
    if ((!IsView(reader.op) && !IsCopy(reader.op)) || reader.outputs.empty() || !reader.outputs[0].valid()) {
      use.word = std::string(WordOf(reader, id));
      break;
    }
    id = reader.outputs[0];
  }
  return use;
}

// "val_3/table" -> "val_3", "table": a rewrite made it of a stored tensor.
struct Derived {
  std::string_view base, what;
};
Derived SplitDerived(std::string_view name) {
  const size_t slash = name.empty() || name[0] == '/' ? std::string_view::npos : name.find('/');
  if (slash == std::string_view::npos) return {name, {}};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

bool IsMadeUp(std::string_view name) {
  return IsExporterName(name) || !FoldedCall(name).empty() || absl::StrContains(View(name), "::");
}

class Namer {
 public:
  Namer(const ProgramSignature& signature, const IdVector<TensorId, TensorKind>& kinds, FrameworkGraph& graph)
      : signature_(signature), graph_(graph) {
    for (const SignatureEntry& entry : signature.entries()) {
      if (entry.kind == SignatureKind::kParameter && !Taken().contains(entry.target)) lost_.insert(entry.target);
    }
    for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
      if (kinds[id] == TensorKind::kParameter) parameters_.push_back(id);
    }
  }

  // What is certain comes first, so that nothing else takes such a name.
  void Run() {
    for (TensorId id : parameters_) NameBySignature(id, &Namer::ExactlyLost);
    for (TensorId id : parameters_) NameBySignature(id, &Namer::OnlyLost);
    for (TensorId id : parameters_) NameByReader(id);
  }

 private:
  void NameBySignature(TensorId id, std::string (Namer::*find)(const Derived&, const Use&) const) {
    Tensor& tensor = graph_.tensors[id];
    const Derived derived = SplitDerived(tensor.name);
    if (lost_.empty() || !tensor.path.empty() || signature_.FindTarget(derived.base) != nullptr) return;
    std::string path = (this->*find)(derived, UseOf(graph_, id));
    if (path.empty()) return;
    lost_.erase(path);
    Take(tensor, std::move(path));
  }

  void NameByReader(TensorId id) {
    Tensor& tensor = graph_.tensors[id];
    const Derived derived = SplitDerived(tensor.name);
    if (!tensor.path.empty() || !IsMadeUp(derived.base) || signature_.FindTarget(derived.base) != nullptr) return;
    const Use use = UseOf(graph_, id);
    if (use.module.empty()) return;  // the root has no name, and neither has the parameter
    Take(tensor, Within(use.module, derived.what.empty() ? std::string_view(use.word) : derived.what));
  }

  static std::string Within(const std::string& module, std::string_view name) {
    return module.empty() ? std::string(name) : absl::StrCat(module, ".", View(name));
  }

  std::string ExactlyLost(const Derived&, const Use& use) const {
    std::string path = Within(use.module, use.word);
    return lost_.contains(path) ? path : "";
  }

  // The one parameter that left the file and that the module, or else what is inside it, may read in that part:
  // in_proj_weight of nn.MultiheadAttention, a table whose module is no call.
  std::string OnlyLost(const Derived& derived, const Use& use) const {
    if (!IsMadeUp(derived.base)) return "";
    const std::string prefix = use.module.empty() ? std::string() : use.module + ".";
    const std::string word(derived.what.empty() ? std::string_view(use.word) : derived.what);
    std::vector<std::string_view> own, own_of_word, inside;
    for (auto it = lost_.lower_bound(prefix); it != lost_.end() && absl::StartsWith(*it, prefix); ++it) {
      const std::string leaf = it->substr(it->rfind('.') + 1);
      const bool has_word = absl::StrContains(leaf, word);
      if (it->find('.', prefix.size()) == std::string::npos) {
        if (has_word) own_of_word.push_back(*it);
        if (leaf != "weight" && leaf != "bias") own.push_back(*it);  // those are known by their part
      } else if (has_word) {
        inside.push_back(*it);
      }
    }
    for (const auto& found : {own_of_word, own, inside}) {
      if (found.size() == 1) return std::string(found.front());
      if (!found.empty()) return "";
    }
    return "";
  }

  void Take(Tensor& tensor, std::string path) {
    if (!Taken().insert(path).second) {
      int64_t number = 2;
      while (!Taken().insert(absl::StrCat(path, "_", number)).second) ++number;
      absl::StrAppend(&path, "_", number);
    }
    tensor.path = std::move(path);
  }

  // Names and paths that no parameter can get. Of a graph whose parameters all have names nobody asks.
  absl::flat_hash_set<std::string>& Taken() {
    if (!taken_) {
      taken_.emplace();
      taken_->reserve(graph_.tensors.size());
      for (const Tensor& tensor : graph_.tensors) taken_->insert(tensor.name);
    }
    return *taken_;
  }

  const ProgramSignature& signature_;
  FrameworkGraph& graph_;
  std::set<std::string> lost_;  // the module's parameters that no tensor is named after
  std::optional<absl::flat_hash_set<std::string>> taken_;
  TensorIds parameters_;
};

}  // namespace

void NameParameters(const ProgramSignature& signature, const IdVector<TensorId, TensorKind>& kinds,
                    FrameworkGraph& graph) {
  Namer(signature, kinds, graph).Run();
}

}  // namespace onnx_mem
