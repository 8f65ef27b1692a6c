// How far a peak may be off for reasons that no row of the table of assumptions stands for: masks and tables that code
// keeps for the next run, copies for the order of memory, states of random generators; parameters that forward never
// reads, of which TorchScript leaves no trace; values in objects and lists. A judgement from data, not a bound.
//
// One margin for each kind of file and part. Data: the models of testdata/blind/blind-8 (35 with a dynamo export, 28
// with one of TorchScript), which was closed when the other rows were made, scored with a margin of 1 % each way.
// Method, one side at a time (split conformal prediction, models are exchangeable, not their cases): of each model the
// least margin that holds all its cases, sorted; the k-th of n, k = ceil((n + 1) * level). Level 95 % for files that
// list the module's tensors, which is the largest of 35; 90 % for others, where 95 % is the largest of 28, a loop that
// was unrolled over the batch (65 %). At least 1 % each way.
#ifndef ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_
#define ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_

#include <string>
#include <vector>

namespace onnx_mem {

// Of the peak.
struct Margin {
  int less_percent = 0;
  int more_percent = 0;
};

// Of files that list the module's tensors (dynamo's), and of others (TorchScript's).
inline constexpr Margin kListedTraining{.less_percent = 4, .more_percent = 2};
inline constexpr Margin kListedInference{.less_percent = 1, .more_percent = 6};
inline constexpr Margin kUnlistedTraining{.less_percent = 1, .more_percent = 9};
inline constexpr Margin kUnlistedInference{.less_percent = 1, .more_percent = 5};

constexpr Margin MarginOf(bool lists_tensors, bool training) {
  if (lists_tensors) return training ? kListedTraining : kListedInference;
  return training ? kUnlistedTraining : kUnlistedInference;
}

// By Lowered::assumptions.
bool ListsTensors(const std::vector<std::string>& assumptions);

// "-1 to +9 %"
std::string MarginText(bool lists_tensors, bool training);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_
