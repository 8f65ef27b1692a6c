// A packed file of testdata.
#ifndef ONNX_MEM_TESTS_GUNZIP_H_
#define ONNX_MEM_TESTS_GUNZIP_H_

#include <zlib.h>

#include <cstddef>
#include <string>

namespace onnx_mem {

// "" if there is none.
inline std::string Gunzip(const std::string& path) {
  std::string text;
  if (gzFile file = gzopen(path.c_str(), "rb"); file != nullptr) {
    char block[4096];
    for (int n = 0; (n = gzread(file, block, sizeof block)) > 0;) text.append(block, static_cast<size_t>(n));
    gzclose(file);
  }
  return text;
}

}  // namespace onnx_mem

#endif  // ONNX_MEM_TESTS_GUNZIP_H_
