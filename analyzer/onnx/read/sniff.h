// What a file is that is not an ONNX model, known from its first bytes. The ONNX and protobuf libraries call a PyTorch
// checkpoint, a git-lfs pointer and an HTML error page alike "corrupt", and an empty file a valid model.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SNIFF_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SNIFF_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace onnx_mem {

inline constexpr size_t kSniffBytes = 512;

// OK for what may be an ONNX model. `head`: the first kSniffBytes (or fewer) of a file of `file_bytes`.
// Errors (InvalidArgument): empty, lfs-pointer, not-onnx.
absl::Status CheckMagic(std::string_view head, int64_t file_bytes, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SNIFF_H_
