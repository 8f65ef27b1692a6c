// The inputs of a model on one line, those that differ in a number of their name as one:
//
//   input_ids  int64 [batch, seq]      past_key_values.{0..31}.{key,value}  float32 [batch, 8, past, 64]
#ifndef ONNX_MEM_ANALYZER_ONNX_SIZES_INPUT_LIST_H_
#define ONNX_MEM_ANALYZER_ONNX_SIZES_INPUT_LIST_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "analyzer/onnx/sizes/declared.h"

namespace onnx_mem {

// "input_ids  int64 [batch, seq]".
std::string TextOf(const DeclaredInput& input);

// What has no size: a dimension of an input, named or not, or an input as a whole.
struct OpenDim {
  size_t input = 0;                // index among the inputs
  std::optional<size_t> dim = {};  // nullopt: the input has no rank
  std::string symbol = {};         // "": the dimension has no name
};

// "input 'x' has unknown dimensions: seq", or of each dimension whose it is.
std::string WhatIsOpen(const std::vector<DeclaredInput>& inputs, const std::vector<OpenDim>& open);

std::string InputList(const std::vector<DeclaredInput>& inputs);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_SIZES_INPUT_LIST_H_
