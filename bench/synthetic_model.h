// Writes .onnx files of any size, byte by byte, of one of four forms over `width` features:
//
//   kChain        x[N,width] --Gemm(w0)--> --Relu--> ... --> y           2 nodes a layer
//   kResidual     x --Gemm--> --Relu--> + x --> ...                      3 nodes a layer
//   kTransformer  x[N,16,width] --norm, attention, +--> --norm, MLP, +-->  15 nodes a layer
//   kWide         x --Gemm--> --Relu--> beside each other, then one Sum  2 nodes a layer, and 1
//
// Inline weights are holes in the file, so that a gigabyte of them costs no disk and no time to write.
#ifndef ONNX_MEM_BENCH_SYNTHETIC_MODEL_H_
#define ONNX_MEM_BENCH_SYNTHETIC_MODEL_H_

#include <cstdint>
#include <string>

namespace onnx_mem {

enum class SyntheticForm { kChain, kResidual, kTransformer, kWide };

struct SyntheticModel {
  SyntheticForm form = SyntheticForm::kChain;
  int64_t layers = 1;
  int64_t width = 1;
  bool inline_weights = true;  // false: external data in a file that does not exist
};

// Replaces `path`. False with errno set when the file cannot be written.
bool WriteSyntheticModel(const SyntheticModel& model, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_BENCH_SYNTHETIC_MODEL_H_
