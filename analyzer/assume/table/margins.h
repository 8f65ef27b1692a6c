// How far a peak may be off for reasons that no row of the table of assumptions stands for: masks and tables that code
// keeps for the next run, copies for the order of memory, states of random generators; parameters that forward never
// reads, of which TorchScript leaves no trace; values in objects and lists; calls under no_grad. A judgement from data,
// not a bound.
//
// One margin for each kind of file and part: of the files that list the module's tensors, those that have them all are
// seldom off, those that have not are off by what the missing ones led to. Data: testdata/blind, blind-8 and
// 2026-11-24, the two newest sets that are open (26 models of the first kind, 39 of the second, 53 of the third). Of
// each model the least margin that holds all its cases, one side at a time, sorted. With the margins that are taken the
// ranges hold 25 of 26, 35 of 39 and 49 of 53 models in training, 26 of 26, 37 of 39 and 51 of 53 in inference, where
// the other rows are those from before 2026-11-24 was opened: 95.5 % of 728 cases of training, 97.3 % of 364 of
// inference. They were chosen to hold 95 % at a median width below 15 %. At least 1 % each way.
#ifndef ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_
#define ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_mem {

// Of the peak.
struct Margin {
  int less_percent = 0;
  int more_percent = 0;
};

// What a file tells of the module's tensors: it has all that it lists (dynamo's), it lists some that it has not, which
// the exporter computed with or nobody reads, or it lists none (TorchScript's).
enum class FileListing : uint8_t { kWhole, kPartly, kNone };

// By Lowered::assumptions.
FileListing ListingOf(const std::vector<std::string>& assumptions);

Margin MarginOf(FileListing listing, bool training);

// "-1 to +9 %"
std::string MarginText(const Margin& margin);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_
