// Names of values: those that an exporter makes up, those of a module's attributes, and those that tell nothing.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_VALUE_NAMES_H_
#define ONNX_MEM_ANALYZER_EXPORTED_VALUE_NAMES_H_

#include <string_view>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"

namespace onnx_mem {

// True for names that an exporter makes up for constants and folded expressions ("onnx::MatMul_243", "val_35",
// "/layer1/Constant_output_0"), false for names of module attributes ("layer1.0.conv1.weight").
bool IsExporterName(std::string_view name);

// The same, of forms that torch's exporters alone write: not of numbers, or of a path that begins with a slash.
bool IsTorchExporterName(std::string_view name);

// True if a tool gave all values names that tell nothing ("n17"): neither words nor paths of modules, nor what an
// exporter makes up.
bool HasOpaqueNames(const Graph& graph);
Diagnostic OpaqueNames(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_VALUE_NAMES_H_
