// Writes .onnx files of any size, byte by byte: a chain of `layers` times Gemm and Relu over `width` features.
//
//   x[N,width] --Gemm(w0)--> --Relu--> ... --> y[N,width]
//
// Inline weights are holes in the file, so that a gigabyte of them costs no disk and no time to write.
#ifndef ONNX_MEM_BENCH_SYNTHETIC_MODEL_H_
#define ONNX_MEM_BENCH_SYNTHETIC_MODEL_H_

#include <cstdint>
#include <string>

namespace onnx_mem {

struct SyntheticModel {
  int64_t layers = 1;
  int64_t width = 1;
  bool inline_weights = true;  // false: external data in a file that does not exist
};

// Replaces `path`. False with errno set when the file cannot be written.
bool WriteSyntheticModel(const SyntheticModel& model, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_BENCH_SYNTHETIC_MODEL_H_
