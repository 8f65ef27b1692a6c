// How the program's heap deals with large blocks.
#ifndef ONNX_MEM_CLI_HEAP_H_
#define ONNX_MEM_CLI_HEAP_H_

namespace onnx_mem {

// Freed memory stays with the program. One enactment frees what the next asks for again; what went back to the system
// in between comes back a page fault at a time, a fifth of the run of a large graph.
void KeepFreedMemory();

}  // namespace onnx_mem

#endif  // ONNX_MEM_CLI_HEAP_H_
