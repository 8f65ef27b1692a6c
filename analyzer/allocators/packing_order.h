// In which order a search for offsets (packing_search.h) tries buffers that may lie equally low: another one for every
// restart, and those first that refuted branches before.
#ifndef ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_ORDER_H_
#define ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_ORDER_H_

#include <vector>

#include "analyzer/allocators/packing_sections.h"

namespace onnx_mem {

// The rank of every item, 0 first. `weights`: by item, how much it has to do with failures so far.
std::vector<int> RankOfItems(const std::vector<PackingItem>& items, const std::vector<double>& weights, int restart);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ALLOCATORS_PACKING_ORDER_H_
