// Ctrl-C while a search runs: the first asks for what has been found so far, the second ends the program as ever.
#ifndef ONNX_MEM_CLI_COMMANDS_INTERRUPT_H_
#define ONNX_MEM_CLI_COMMANDS_INTERRUPT_H_

#include <atomic>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

// Listens from the first call on; true once SIGINT has come.
const std::atomic<bool>& FirstInterrupt();

// What standard error says then.
Diagnostic InterruptedNote();

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_COMMANDS_INTERRUPT_H_
