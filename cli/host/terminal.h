// What standard output can show.
#ifndef ONNX_MEM_CLI_HOST_TERMINAL_H_
#define ONNX_MEM_CLI_HOST_TERMINAL_H_

#include "analyzer/graph/bytes.h"
#include "report/parts/screen.h"

namespace onnx_mem {

enum class ColorChoice { kAuto, kAlways, kNever };

// Standard output as it is: a terminal's own width and rows, COLUMNS (else kWidest) and LINES (else 0) for a pipe or
// file; colour on a terminal unless NO_COLOR is set or TERM is dumb, or as `color` says; glyphs beyond ASCII in a UTF-8
// locale.
Screen ScreenOfStandardOutput(ColorChoice color, ByteUnit units);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_HOST_TERMINAL_H_
