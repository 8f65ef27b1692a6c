// What is reported for operators that no memory rule covers.
#ifndef ONNX_MEM_ANALYZER_RUN_ASSUMED_OPERATORS_H_
#define ONNX_MEM_ANALYZER_RUN_ASSUMED_OPERATORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

// assumed-op, of operators by name with how often each was met. `things`: what is counted, "nodes" of a file.
Diagnostic AssumedOperators(const std::map<std::string, int64_t>& counts, std::string_view things);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUN_ASSUMED_OPERATORS_H_
