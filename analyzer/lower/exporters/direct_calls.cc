// Attention whose module is run by a direct call of its forward, as Llama's reference code does:
//
//   h = x + self.attention.forward(self.attention_norm(x), cos, sin)
//
// leaves no call of its own in the file: /layers.0/wq/MatMul reads layers.0.attention.wq.weight, and the products run
// in layers.0. Where several layers of one submodule enclose a softmax that runs in the code around, that code is the
// submodule's forward, whose names go when it returns. A container (ModuleDict, ModuleList) is used from the code
// around: an element of a list (layers.0.wq called by the model) is taken for one.
// Source: llama/model.py (TransformerBlock.forward), torch/nn/modules/module.py (forward pushes no scope, __call__
// does).
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/call_name.h"
#include "analyzer/lower/draft/match.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {
namespace {

using Path = std::vector<std::string>;

// "attention" of a leaf layers.0.attention.wq that is called in layers.0; empty for a leaf that is the caller's own.
std::string DirectlyCalled(const Node& node) {
  if (node.calls.empty() || node.module.empty()) return {};
  std::string_view inner = node.module;
  if (node.calls.size() > 1) {
    const std::string_view caller = WithoutCallNumber(node.calls[node.calls.size() - 2]);
    if (inner.size() <= caller.size() || !inner.starts_with(caller) || inner[caller.size()] != '.') return {};
    inner.remove_prefix(caller.size() + 1);
  }
  const size_t dot = inner.find('.');
  if (dot == std::string_view::npos || inner.find('.', dot + 1) != std::string_view::npos) return {};
  const std::string_view hidden = inner.substr(0, dot);
  const bool is_element =
      std::all_of(hidden.begin(), hidden.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
  // A Sequential's element is called by the Sequential: /mlp/mlp.0 runs in mlp.
  const bool is_called = std::any_of(node.calls.begin(), node.calls.end() - 1, [&](const std::string& call) {
    return WithoutCallNumber(call) == node.module.substr(0, node.module.rfind('.'));
  });
  return is_element || is_called ? std::string() : std::string(hidden);
}

bool ReadsParameter(const Draft& draft, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](TensorId id) { return id.valid() && draft.kind(id) == TensorKind::kParameter; });
}

// Nodes from the first to the last layer of one submodule, in the code of one call.
struct Stretch {
  std::string hidden;
  Path caller;
  size_t first = 0;
  size_t last = 0;
  int layers = 0;
  int softmaxes = 0;  // up to the last layer
  int later_softmaxes = 0;
};

class DirectCalls {
 public:
  explicit DirectCalls(Draft& draft) : draft_(draft), order_(draft.InOrder()) {}

  int64_t Name() {
    for (size_t i = 0; i < order_.size(); ++i) Visit(i);
    Close();
    return count_;
  }

 private:
  void Visit(size_t i) {
    const Node& node = draft_.node(order_[i]);
    const bool is_inside = run_ && node.calls.size() >= run_->caller.size() &&
                           std::equal(run_->caller.begin(), run_->caller.end(), node.calls.begin());
    if (run_ && !is_inside) Close();
    if (run_ && node.calls.size() == run_->caller.size()) {
      run_->later_softmaxes += node.op == "softmax" || node.op == "sdpa" ? 1 : 0;
      return;
    }
    const std::string hidden = ReadsParameter(draft_, node) ? DirectlyCalled(node) : std::string();
    if (run_ && hidden != run_->hidden && ReadsParameter(draft_, node)) Close();
    if (hidden.empty()) return;
    if (!run_) run_ = Stretch{hidden, Path(node.calls.begin(), node.calls.end() - 1), i, i};
    run_->last = i;
    ++run_->layers;
    run_->softmaxes += std::exchange(run_->later_softmaxes, 0);
  }

  void Close() {
    constexpr int kFewestLayers = 2;  // qkv, out
    if (run_ && run_->layers >= kFewestLayers && run_->softmaxes > 0) {
      const size_t depth = run_->caller.size();
      const std::string name = depth == 0 ? run_->hidden : absl::StrCat(run_->caller.back(), ".", run_->hidden);
      for (size_t i = run_->first; i <= run_->last; ++i) {
        Path& calls = draft_.mutable_node(order_[i]).calls;
        calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(depth), name);
      }
      ++count_;
    }
    run_.reset();
  }

  Draft& draft_;
  NodeIds order_;
  std::optional<Stretch> run_;
  int64_t count_ = 0;
};

}  // namespace

int64_t NameDirectCalls(Lowering& lowering) { return DirectCalls(lowering.draft).Name(); }

}  // namespace onnx_mem
