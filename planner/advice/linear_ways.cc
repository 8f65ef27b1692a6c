// Smaller fully connected layers: where two in a row have a large part of all parameters, half as many features between
// them. The file is read with other shapes of their weights; where something else depends on these sizes, the reading
// fails and nothing is proposed.
//
//   AlexNet: classifier.1 9216 -> 4096, classifier.4 4096 -> 4096     --input classifier.1.weight=2048x9216 ...
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

constexpr int64_t kLargePart = 4;  // of the parameters, at least one in so many bytes

bool IsMatrix(const Parameter& parameter) { return parameter.dims.size() == 2; }

struct Pair {
  const Parameter* first = nullptr;   // [between, in]
  const Parameter* second = nullptr;  // [out, between]
};

// The largest two matrices in a row of which one gives what the other takes.
Pair LargestPair(const std::vector<Parameter>& parameters) {
  Pair largest;
  int64_t bytes = 0;
  const Parameter* before = nullptr;
  for (const Parameter& parameter : parameters) {
    if (!IsMatrix(parameter)) continue;
    if (before != nullptr && before->dims[0] == parameter.dims[1] && before->bytes + parameter.bytes > bytes) {
      largest = {before, &parameter};
      bytes = before->bytes + parameter.bytes;
    }
    before = &parameter;
  }
  return largest;
}

const Parameter* BiasOf(const Parameter& weight, const std::vector<Parameter>& parameters) {
  const absl::string_view module = absl::StripSuffix(weight.name, ".weight");
  if (module.size() == weight.name.size()) return nullptr;
  for (const Parameter& parameter : parameters) {
    if (parameter.name == absl::StrCat(module, ".bias") && parameter.dims == Dims{weight.dims[0]}) return &parameter;
  }
  return nullptr;
}

}  // namespace

std::vector<Proposal> ProposeSmallerLinear(const Situation& s) {
  const auto [first, second] = LargestPair(s.enacted->parameters);
  if (first == nullptr || first->dims[0] % 2 != 0) return {};
  if (first->bytes + second->bytes < s.enacted->parameter_bytes / kLargePart) return {};
  const int64_t between = first->dims[0] / 2;
  Proposal change{absl::StrCat("half as many features between ", first->module, " and ", second->module),
                  {},
                  "another model",
                  Price::kTask,
                  s.workload};
  const auto reshape = [&](const Parameter& parameter, size_t axis) {
    Dims dims = parameter.dims;
    dims[axis] = between;
    change.flags.insert(change.flags.end(), {"--input", absl::StrCat(parameter.name, "=", absl::StrJoin(dims, "x"))});
    change.workload.bindings.inputs[parameter.name] = std::move(dims);
  };
  reshape(*first, 0);
  if (const Parameter* bias = BiasOf(*first, s.enacted->parameters)) reshape(*bias, 0);
  reshape(*second, 1);
  return {change};
}

}  // namespace onnx_mem
