// Names that no model has, cut short: paths of thousands of modules would be taken apart again and again.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_SHORT_NAME_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_SHORT_NAME_H_

#include <string>

namespace onnx_mem {

// `name`; of one that names more than limits::kDeepestModules modules, or of more than limits::kLongestName bytes, its
// beginning and a number that is the same for equal names.
std::string ShortName(const std::string& name);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_SHORT_NAME_H_
