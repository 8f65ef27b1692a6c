// Lines that begin with "try:" as the user can paste them. A diagnostic's detail that is to be pasted begins
// "try: onnx-mem MODEL", or "try: ... --option" for the command line as it was with this option, "try: without
// --option" for it without; a remark stands behind "   # ". Advice that is no command begins "way out:".
#ifndef ONNX_MEM_CLI_PASTED_COMMAND_H_
#define ONNX_MEM_CLI_PASTED_COMMAND_H_

#include <string>
#include <string_view>

#include "analyzer/graph/diagnostic.h"
#include "cli/options/options.h"

namespace onnx_mem {

// `diagnostic` with its commands whole: "try: ... --option" becomes the user's own command line with this option, and
// MODEL the user's file with the sizes of its dimensions. What the option takes the place of is left out: its own
// earlier value where only one counts, where both are of one dimension or input, or where the message begins with the
// option's name, so that the value is what is wrong; and --gpu where --gpu-memory is given. `open_sizes`: options for
// dimensions to which the user gave no size, of a command that does without; what is proposed of another one has them.
Diagnostic WithCommands(Diagnostic diagnostic, const Options& options, std::string_view open_sizes = "");

// The user's command line as that of another command: what it does not take is left out, and what is said of the
// output. `more` takes the place of the same options; a limit of all limits. "" where there is no command line.
std::string CommandOf(std::string_view command, const Options& options, std::string_view more);

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_PASTED_COMMAND_H_
