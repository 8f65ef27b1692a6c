// Debian's Abseil is built with a string_view of its own, which a std::string_view does not become by itself.
#ifndef ONNX_MEM_ANALYZER_GRAPH_ABSL_VIEW_H_
#define ONNX_MEM_ANALYZER_GRAPH_ABSL_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace onnx_mem {

inline absl::string_view View(std::string_view s) { return absl::string_view(s.data(), s.size()); }

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_ABSL_VIEW_H_
