#include "analyzer/run/assumed_operators.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onnx_mem {

Diagnostic AssumedOperators(const std::map<std::string, int64_t>& counts, std::string_view things) {
  int64_t total = 0;
  for (const auto& [op, count] : counts) total += count;
  Diagnostic d{.code = Code::kAssumedOp, .severity = Severity::kWarning, .count = total};
  d.message = absl::StrCat("no memory rule for ", total, " ", std::string(things));
  d.details = {absl::StrCat("what: ", absl::StrJoin(counts, ", ",
                                                    [](std::string* text, const auto& entry) {
                                                      absl::StrAppend(text, entry.first, " (x", entry.second, ")");
                                                    })),
               "why: counted as new outputs that save their inputs, one gradient per input"};
  return d;
}

}  // namespace onnx_mem
