// compare MODEL --measured SIZE --report: what a user sends us of a run, so that others can learn from it.
#ifndef ONNX_MEM_REPORT_COMPARE_MEASURED_ROW_H_
#define ONNX_MEM_REPORT_COMPARE_MEASURED_ROW_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analysis/analysis.h"

namespace onnx_mem {

// What is known of the run that was measured.
struct Measurement {
  int64_t bytes = 0;
  std::vector<int64_t> lengths = {};  // of dimensions beside the batch
  std::string card = {};              // "": not given
  std::string driver = {};            // of the card's machine; "": not known
};

// Why `measured_bytes` is not what was predicted of max_memory_allocated(), of the causes that the range consists of:
// "none", "file", "workspace"; "below-range", "above-range" where it holds no cause for so much.
std::string_view CauseOf(const PeakFigures& figures, int64_t measured_bytes);

// The value of a setting without what the user's code calls things.
std::string WithoutNames(std::string_view option, std::string_view value);

// A block of Markdown: facts of the model, the settings, what was predicted and measured. No name of a file, a module
// or a tensor is in it. `analysis` is one with ranges.
std::string MeasuredRow(const Measurement& measured, const Analysis& analysis);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_COMPARE_MEASURED_ROW_H_
