// Which part of a model holds the memory at the peak, in as few lines as tell something.
#ifndef ONNX_MEM_REPORT_PARTS_LAYERS_H_
#define ONNX_MEM_REPORT_PARTS_LAYERS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "report/parts/modules.h"

namespace onnx_mem {

struct LayerShare {
  std::string name;
  int64_t bytes = 0;
  friend bool operator==(const LayerShare&, const LayerShare&) = default;
};

// Bytes at the peak by module, coarse enough to be read at a glance: starts from the top-level modules and opens the
// largest as long as it holds more than two fifths, or is all that there is. Largest first.
//   GPT-2: transformer.wte, transformer.h.0 ... transformer.h.11 rather than one line "transformer"
std::vector<LayerShare> BytesByLayer(const RunFigures& figures, const Modules& modules);

// Layers of consecutive numbers that hold the same, within 1 %, as one: h.0 to h.11 of 10 MiB are "h.0-11" of 120 MiB.
// Largest first.
std::vector<LayerShare> FoldRepeats(const std::vector<LayerShare>& layers);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_LAYERS_H_
