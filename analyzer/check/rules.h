// The rules of the lint, a row each.
#ifndef ONNX_MEM_ANALYZER_CHECK_RULES_H_
#define ONNX_MEM_ANALYZER_CHECK_RULES_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/study/study.h"

namespace onnx_mem {

struct CheckedExport {
  Study& study;
  const Workload& workload;
  const Analysis& analysis;
  int64_t peak_bytes = 0;      // of training where there is one, else of inference
  std::string peak_name = {};  // "training peak at batch 64"
};

// What a diagnostic of the analysis moves: the bytes, and a line that says so; nullopt where it cannot be known.
struct Effect {
  int64_t bytes = 0;
  std::string text;
};
struct EffectRow {
  Code code;
  std::optional<Effect> (*measure)(const CheckedExport& checked);
};
absl::Span<const EffectRow> EffectRows();

// The same for the diagnostic of a row of assume/table: the peak with the fact the other way; nullopt for another code.
std::optional<Effect> EffectOfAssumption(const CheckedExport& checked, Code code);

// The same for a rewrite that applied, by its name.
std::optional<Effect> EffectOfRewrite(const CheckedExport& checked, const std::string& rewrite);

// A finding that the analysis itself has no diagnostic for.
struct FindingRow {
  Code code;
  std::optional<Diagnostic> (*find)(const CheckedExport& checked);
};
absl::Span<const FindingRow> FindingRows();

// The peak with another run of the same file; nullopt where it cannot run.
std::optional<int64_t> PeakWith(const CheckedExport& checked, const Workload& workload);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_CHECK_RULES_H_
