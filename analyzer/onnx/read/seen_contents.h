// What reading saw in the numbers of stored tensors, by their names: the numbers themselves are not kept.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SEEN_CONTENTS_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SEEN_CONTENTS_H_

#include <map>
#include <string>

#include "analyzer/graph/dag.h"

namespace onnx_mem {

using SeenContents = std::map<std::string, Contents, std::less<>>;

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SEEN_CONTENTS_H_
