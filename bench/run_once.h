// Runs a program as its user does, and tells what it took.
#ifndef ONNX_MEM_BENCH_RUN_ONCE_H_
#define ONNX_MEM_BENCH_RUN_ONCE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_mem {

struct ProcessRun {
  double wall_seconds = 0;
  double cpu_seconds = 0;
  int64_t resident_bytes = 0;  // at the most
  int64_t read_bytes = 0;      // by calls that read, of files or pipes; 0 where the system does not count them
  int exit_code = -1;          // -1: it did not end by itself
};

// Its output is used nowhere.
ProcessRun RunOnce(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace onnx_mem

#endif  // ONNX_MEM_BENCH_RUN_ONCE_H_
