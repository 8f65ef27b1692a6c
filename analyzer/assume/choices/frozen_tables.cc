// Tables of positions that are parameters of their modules and are not trained: requires_grad is False, which no file
// says. What they hold tells, where the contents are there (Tensor::contents): sines and cosines.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

int64_t FreezeTables(Lowering& lowering) {
  const Draft& draft = lowering.draft;
  std::vector<std::string> names;
  for (int32_t i = 0; i < static_cast<int32_t>(draft.num_tensors()); ++i) {
    const TensorId id(i);
    const bool trained = draft.tensor(id).contents != Contents::kSinusoids;
    if (trained || draft.kind(id) != TensorKind::kParameter || draft.readers(id).empty()) continue;
    lowering.frozen.insert(id);
    names.push_back(draft.tensor(id).name);
  }
  if (names.empty()) return 0;
  Diagnostic d{Code::kFrozenTable,
               Severity::kNote,
               static_cast<int64_t>(names.size()),
               absl::StrCat(names.size(), " tables of positions are taken for sinusoids, which nothing trains"),
               {},
               {}};
  d.details.push_back(absl::StrCat("what: ", absl::StrJoin(names, ", ")));
  d.details.push_back("try: ... --no-rewrite frozen-tables   # if they are trained");
  lowering.diagnostics.push_back(std::move(d));
  return static_cast<int64_t>(names.size());
}

}  // namespace onnx_mem
