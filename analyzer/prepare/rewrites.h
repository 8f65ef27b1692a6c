// Rewrites: what the framework ran, where translating node by node does not find it. One row and one file for each.
// They change the drafted framework operators in the order of the rows; Run.disabled_rewrites switches them off by
// name.
#ifndef ONNX_MEM_ANALYZER_PREPARE_REWRITES_H_
#define ONNX_MEM_ANALYZER_PREPARE_REWRITES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

// Which report tells that a rewrite applied: all of them, `check` alone (the plain meaning of the file), or none,
// because the rewrite has a diagnostic of its own.
enum class Reporting { kAlways, kByCheck, kByItself };

struct Rewrite {
  std::string_view name;
  std::string_view description;          // what was found, for a report: "12 softmax attentions run as one operator"
  int64_t (*apply)(Lowering& lowering);  // how many times it applied
  Reporting reported = Reporting::kAlways;
  std::string_view after = {};  // names of the rows that must have run before, separated by spaces
};

std::span<const Rewrite> AllRewrites();

// InvalidArgument "unknown-rewrite" unless all of `names` are names of rows.
absl::Status CheckRewriteNames(const std::vector<std::string>& names);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PREPARE_REWRITES_H_
