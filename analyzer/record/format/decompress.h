// The text of a record as a file's metadata holds it: plain, or "zlib:" and base64.
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_DECOMPRESS_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_DECOMPRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx_mem::record {

// A record of some 100,000 operators in ten programs; what is larger is no record but a trap.
inline constexpr int64_t kMostTextBytes = int64_t{128} << 20;
// zlib makes a tenth of an exporter's record, base64 adds a third.
constexpr int64_t MostTextBytes(int64_t packed_bytes) {
  return packed_bytes < (int64_t{1} << 20) ? (int64_t{8} << 20) + 100 * packed_bytes : kMostTextBytes;
}

// Error: InvalidArgument "bad-record" where the packing is broken; "too-large" where the text is larger than
// MostTextBytes of what is packed.
absl::StatusOr<std::string> Unpack(std::string_view packed);

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_DECOMPRESS_H_
