// The text of a record as a file's metadata holds it: plain, or "zlib:" and base64.
#ifndef ONNX_MEM_ANALYZER_RECORD_DECOMPRESS_H_
#define ONNX_MEM_ANALYZER_RECORD_DECOMPRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx_mem::record {

// A record of some 100,000 operators; what is larger is no record but a trap.
inline constexpr int64_t kMostTextBytes = int64_t{256} << 20;

// Error: InvalidArgument "bad-record" where the packing is broken, or the text larger than kMostTextBytes.
absl::StatusOr<std::string> Unpack(std::string_view packed);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_DECOMPRESS_H_
