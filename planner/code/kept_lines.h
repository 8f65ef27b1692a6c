// What a segment keeps, as a person writes it: blocks that keep the same in one line, calls by the module within their
// block.
//
//   transformer.h.{0..4}   addmm[attn.c_attn] efficient_attention[attn] add#0,1 tanh[mlp.act]
//   transformer.h.5        addmm[attn.c_attn] efficient_attention[attn] add#1
#ifndef ONNX_MEM_PLANNER_CODE_KEPT_LINES_H_
#define ONNX_MEM_PLANNER_CODE_KEPT_LINES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/run/run.h"

namespace onnx_mem {

struct KeptLine {
  std::string blocks;
  std::string calls;  // "nothing" where a block of the segment keeps none
};

// Empty where the segment keeps no calls.
std::vector<KeptLine> KeptLinesOf(const Segment& segment);

// The same as a Python dict of names of calls (call_id.h) and their kept outputs, blocks that keep the same in one
// comprehension; lines after the first begin with `indent` spaces.
std::string KeptDictOf(const Segment& segment, size_t indent);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_KEPT_LINES_H_
