// How the program ends. Finer distinctions live in the stable code of an error, "[unbound-dim]".
#ifndef ONNX_MEM_CLI_EXIT_CODE_H_
#define ONNX_MEM_CLI_EXIT_CODE_H_

namespace onnx_mem {

enum class ExitCode {
  kYes = 0,     // done; the answer is yes, or there was no question
  kNo = 1,      // done; the answer is no: over budget, does not fit, regression, infeasible
  kCannot = 2,  // could not do it: usage, file, model
  kBug = 70,    // our own error
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_EXIT_CODE_H_
