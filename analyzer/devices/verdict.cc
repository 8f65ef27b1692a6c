#include "analyzer/devices/verdict.h"

namespace onnx_mem {

Verdict VerdictOf(const Need& need, int64_t limit_bytes) {
  if (need.expected_bytes > limit_bytes) return Verdict::kDoesNotFit;
  return need.high_bytes > limit_bytes ? Verdict::kMayFit : Verdict::kFits;
}

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return "fits";
    case Verdict::kMayFit: return "may-fit";
    case Verdict::kDoesNotFit: return "does-not-fit";
  }
  return "";
}

std::string_view WordsOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return "fits";
    case Verdict::kMayFit: return "may fit";
    case Verdict::kDoesNotFit: return "does not fit";
  }
  return "";
}

}  // namespace onnx_mem
