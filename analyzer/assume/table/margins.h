// How far a peak may be off for reasons that no row of the table of assumptions stands for: masks and tables that code
// keeps for the next run, copies for the order of memory, states of random generators; parameters that forward never
// reads, of which TorchScript leaves no trace; values in objects and lists; calls under no_grad. A judgement from data,
// not a bound.
//
// One margin for each kind of file and part: of the files that list the module's tensors, those that have them all are
// seldom off, those that have not all parameters are off by what the missing ones led to: they are trained, and so is
// what was computed of them. A buffer has no gradient: what the exporter computed of buffers alone is saved as it is in
// the file, and the bytes of the buffers are a row of their own, so a training step is hardly more open than one of a
// file that has all. In an inference such values may be made and kept beside what is counted.
//
// Data: the eleven sets of testdata/blind that are open (on which rules were made too), 902 files, with the other rows
// as they were when the eleventh was opened. Of each file the least margin that holds all its cases, one side at a
// time; each margin ends where more points hold hardly a file more. Above a training step, of 289 files that list
// nothing 7 need more than 3 % and 5 more than 9 %, of 232 that lack parameters 9 and 8; below it, of 315 that have all
// 4 need more than 1 % and 2 more than 4 %. At least 1 % each way.
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

// What a file tells of the module's tensors: it has all that it lists (dynamo's), all but some buffers, it lists
// parameters that it has not, which the exporter computed with or nobody reads, or it lists none (TorchScript's).
enum class FileListing : uint8_t { kWhole, kAllButBuffers, kPartly, kNone };

// By Lowered::assumptions.
FileListing ListingOf(const std::vector<std::string>& assumptions);

Margin MarginOf(FileListing listing, bool training);

// "-1 to +9 %"
std::string MarginText(const Margin& margin);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ASSUME_TABLE_MARGINS_H_
