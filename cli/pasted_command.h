// Lines that begin with "try:" as the user can paste them. A diagnostic's detail that is to be pasted begins
// "try: onnx-mem MODEL", or "try: ... --option" for the command line as it was with an option more; a remark stands
// behind "   # ".
#ifndef ONNX_MEM_CLI_PASTED_COMMAND_H_
#define ONNX_MEM_CLI_PASTED_COMMAND_H_

#include "analyzer/graph/diagnostic.h"
#include "cli/options/options.h"

namespace onnx_mem {

// `diagnostic` with its commands whole: "try: ... --option" becomes the user's own command line with an option more,
// and MODEL the user's file.
Diagnostic WithCommands(Diagnostic diagnostic, const Options& options);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_PASTED_COMMAND_H_
