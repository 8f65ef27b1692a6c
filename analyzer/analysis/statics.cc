#include "analyzer/analysis/statics.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/eager/engine/machine.h"

namespace onnx_mem {
namespace {

bool MatchesAny(const std::vector<NamePattern>& patterns, const std::string& text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const NamePattern& p) { return p.FoundIn(text); });
}

}  // namespace

absl::StatusOr<std::vector<NamePattern>> FrozenPatterns(const Run& run) {
  std::vector<NamePattern> compiled;
  for (const std::string& pattern : run.freeze) {
    std::optional<NamePattern> one = NamePattern::Compile(pattern);
    if (!one) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUsage,
                         absl::StrCat("--freeze: '", pattern, "' is not a regular expression"));
    }
    compiled.push_back(*std::move(one));
  }
  return compiled;
}

void AllocateStatics(eager::Executor& executor, const Lowered& lowered, const Run& run,
                     const std::vector<NamePattern>& frozen) {
  executor.AllocateStatics(
      [&](TensorId id) {
        if (lowered.frozen.contains(id) || MatchesAny(frozen, ShownName(lowered.graph.tensors[id]))) {
          return false;
        }
        const auto others = lowered.other_names.find(id);
        return others == lowered.other_names.end() ||
               std::none_of(others->second.begin(), others->second.end(),
                            [&](const std::string& name) { return MatchesAny(frozen, name); });
      },
      [&](const Tensor& t) {
        return run.training &&
               std::find(run.requires_grad.begin(), run.requires_grad.end(), t.name) != run.requires_grad.end();
      });
}

void AddParameters(const eager::Machine& m, const eager::Executor& executor, const FrameworkGraph& graph,
                   Enacted& result) {
  std::unordered_set<const eager::EagerTensor*> with_gradient;
  for (const auto& [parameter, grad] : m.gradients()) with_gradient.insert(parameter);
  result.arrivals = m.arrivals();
  result.parameters.reserve(executor.parameters().size());
  for (TensorId id : executor.parameters()) {
    const Tensor& tensor = graph.tensors[id];
    const eager::TensorRef& t = executor.value(id);
    Parameter parameter;
    parameter.name = ShownName(tensor);
    parameter.file_name = tensor.name;
    const size_t dot = parameter.name.rfind('.');
    parameter.module = parameter.name.substr(0, dot == std::string::npos ? 0 : dot);
    parameter.dims = t->dims;
    parameter.dtype = t->dtype;
    parameter.bytes = t->storage->bytes;
    parameter.buffer = t->storage->buffer;
    parameter.trainable = t->requires_grad;
    parameter.has_gradient = with_gradient.contains(t.get());
    result.parameter_count += eager::NumElements(t->dims);
    result.parameter_bytes += parameter.bytes;
    result.parameters.push_back(std::move(parameter));
  }
}

}  // namespace onnx_mem
