// The bytes of an .onnx file -> the bytes of the same model without its weights and doc strings, small enough to be
// parsed by protobuf (which refuses 2 GiB and copies every payload).
//
//   model { graph { node{..} initializer{ dims:[64,3,7,7] raw_data:<37632 B> } } }
//   model { graph { node{..} initializer{ dims:[64,3,7,7] } } }
//
// Only headers are read: a payload is stepped over. Kept are the contents of tensors that shape arithmetic or a
// scalar's value may need: everything up to kKeptBytes, and 32- and 64-bit integers up to kKeptIntegerBytes (8192
// int64, more than any shape, index list or window table that folding works on).
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SLIM_MODEL_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SLIM_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/onnx/read/byte_window.h"

namespace onnx_mem {

inline constexpr int64_t kKeptBytes = 1 << 10;
inline constexpr int64_t kKeptIntegerBytes = 64 << 10;

// Errors (InvalidArgument): not-onnx where the bytes are no ModelProto, truncated, damaged.
absl::StatusOr<std::string> SlimModel(ByteWindow& bytes, const std::string& path);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SLIM_MODEL_H_
