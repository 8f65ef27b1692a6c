// SHA-256 (FIPS 180-4), for fingerprints of graphs.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SHA256_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SHA256_H_

#include <string>
#include <string_view>

namespace onnx_mem {

// In hexadecimal digits, 64 of them.
std::string Sha256(std::string_view bytes);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SHA256_H_
