// The symbols in the dimensions of a model's inputs, and which of them are the batch.
#ifndef ONNX_MEM_ANALYZER_ONNX_SIZES_INPUT_SYMBOLS_H_
#define ONNX_MEM_ANALYZER_ONNX_SIZES_INPUT_SYMBOLS_H_

#include <set>
#include <string>
#include <vector>

#include "analyzer/onnx/sizes/declared.h"

namespace onnx_mem {

struct InputSymbols {
  std::vector<std::string> all;  // in order
  std::set<std::string> batch;   // those that --batch means
  bool leading = false;          // some dim 0 is symbolic

  std::string MainBatch() const;  // of `batch`, which is not empty: the one that reports call the batch
};

InputSymbols SymbolsOf(const std::vector<DeclaredInput>& inputs);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_SIZES_INPUT_SYMBOLS_H_
