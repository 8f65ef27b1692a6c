// Lines with a size for training and one for inference in columns, which the first screen and the long one share.
//
//                            training          inference
//   parameters             97.5 MiB    2 %     97.5 MiB   ▌
#ifndef ONNX_MEM_REPORT_TEXT_PART_COLUMNS_H_
#define ONNX_MEM_REPORT_TEXT_PART_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/graph/bytes.h"
#include "report/analyze/report.h"
#include "report/parts/screen.h"

namespace onnx_mem {

struct PartLine {
  std::string label;
  std::optional<int64_t> training = {}, inference = {};  // "-" where it is nothing
  std::string rest = {};                                 // left out where it has no room
  Paint paint = Paint::kNone;                            // of the rest
  std::optional<int64_t> whole = {};                     // of which training's size is shown as a share
};

// A column for each part that `run` has, all sizes in one unit. `run` and `screen` outlive it.
class PartColumns {
 public:
  PartColumns(const RunSummary& run, size_t label_width, size_t size_width, const Screen& screen);

  std::string Header() const;
  std::string Text(const PartLine& line) const;
  std::string Rule() const;

 private:
  std::string Size(std::optional<int64_t> bytes) const;

  const RunSummary& run_;
  const size_t label_width_, size_width_;
  const Screen& screen_;
  ByteUnit unit_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_TEXT_PART_COLUMNS_H_
