// What a segment keeps, as a person writes it: blocks that keep the same in one line, calls by the module within their
// block.
//
//   transformer.h.{0..4}   addmm[attn.c_attn] efficient_attention[attn] add#0,1 tanh[mlp.act]
//   transformer.h.5        addmm[attn.c_attn] efficient_attention[attn] add#1
#ifndef ONNX_MEM_PLANNER_CODE_KEPT_LINES_H_
#define ONNX_MEM_PLANNER_CODE_KEPT_LINES_H_

#include <string>
#include <vector>

#include "analyzer/run/run.h"

namespace onnx_mem {

struct KeptLine {
  std::string blocks;
  std::string calls;  // "nothing" where a block of the segment keeps none
};

// `calls` of the segment, which are kept on the device or on the host. Empty where there are none.
std::vector<KeptLine> KeptLinesOf(const Segment& segment, const std::vector<KeptCall>& calls);

// `calls` by module of the segment; the last are what lies between them, or is counted over the segment.
std::vector<std::vector<const KeptCall*>> ByBlock(const Segment& segment, const std::vector<KeptCall>& calls);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_KEPT_LINES_H_
