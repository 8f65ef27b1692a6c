// The bytes alive at the peak by module, with the category as the innermost frame: what flame graphs show.
#ifndef ONNX_MEM_REPORT_VIEWERS_PEAK_STACKS_H_
#define ONNX_MEM_REPORT_VIEWERS_PEAK_STACKS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/viewers/drawn_runs.h"

namespace onnx_mem {

// ["layer1", "0", "conv1", "saved activations"] -> 205520896. Frames have no control characters.
using PeakStacks = std::map<std::vector<std::string>, int64_t>;
PeakStacks PeakStacksOf(const ViewedRun& run);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_VIEWERS_PEAK_STACKS_H_
