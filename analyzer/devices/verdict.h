// Whether what a run needs has room in what there is: the one answer that every command, the library and Python give.
//
//   low  expected  high      fits: high is within the limit; may fit: expected is, high is not; else it does not fit
#ifndef ONNX_MEM_ANALYZER_DEVICES_VERDICT_H_
#define ONNX_MEM_ANALYZER_DEVICES_VERDICT_H_

#include <cstdint>
#include <string_view>

namespace onnx_mem {

// What a run needs, bytes. Where no range is known all three are one.
struct Need {
  int64_t low_bytes = 0;
  int64_t expected_bytes = 0;
  int64_t high_bytes = 0;
};

enum class Verdict : uint8_t { kFits, kMayFit, kDoesNotFit };  // the worse the later

Verdict VerdictOf(const Need& need, int64_t limit_bytes);

std::string_view NameOf(Verdict verdict);   // for programs: "fits", "may-fit", "does-not-fit"
std::string_view WordsOf(Verdict verdict);  // for people: "fits", "may fit", "does not fit"

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_DEVICES_VERDICT_H_
