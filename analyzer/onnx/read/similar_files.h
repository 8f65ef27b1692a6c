// What the user may have meant by a path that cannot be read: for "did you mean" lines only.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SIMILAR_FILES_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SIMILAR_FILES_H_

#include <string>

namespace onnx_mem {

// The file beside `path` whose name is nearest to it (at most 2 typing errors); empty where there is none.
std::string SimilarFile(const std::string& path);

// The first .onnx file in `folder`, by name; empty where there is none.
std::string ModelInFolder(const std::string& folder);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SIMILAR_FILES_H_
