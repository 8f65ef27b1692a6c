// What the segments of a plan keep, as Python that a person would write: one dict for all blocks of the plan, those
// that keep the same in one line; and one of what they keep in host memory. The code that applies it
// (python/onnx_mem/_checkpoint/applied.py) spells it out.
//
//   KEEP = {
//       "h.{0..4,7}": "attn.c_attn:addmm attn:_scaled_dot_product_efficient_attention[0,1,2,3] add.Tensor#0,1",
//   }
//
// A call is its module within the block, its operator, how many of its kind went before (0), and its outputs ([0]).
#ifndef ONNX_MEM_PLANNER_CODE_KEEP_TABLE_H_
#define ONNX_MEM_PLANNER_CODE_KEEP_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/run/run.h"

namespace onnx_mem {

struct CallTable {
  std::string_view name;
  std::vector<KeptCall> Segment::*calls;
};
inline constexpr CallTable kKeepTable{"KEEP", &Segment::keep_calls};
inline constexpr CallTable kHostTable{"HOST", &Segment::host_calls};

// The table's rows, without indentation and commas.
std::vector<std::string> RowsOf(const CallTable& table, const std::vector<Segment>& segments);

// What one segment has of it: "KEEP", of which it takes what is of its modules, and what that cannot say, calls between
// modules and of odd names.
std::string CallsOf(const CallTable& table, const Segment& segment);

// "h.0", "h.1", "h.2" as a Python list: ["h.{0..2}"].
std::string NamesOf(const std::vector<std::string>& modules);

}  // namespace onnx_mem

#endif  // ONNX_MEM_PLANNER_CODE_KEEP_TABLE_H_
