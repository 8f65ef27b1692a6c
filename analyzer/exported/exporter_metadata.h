// What dynamo's exporter wrote to a node of the program that it came from.
#ifndef ONNX_MEM_ANALYZER_EXPORTED_EXPORTER_METADATA_H_
#define ONNX_MEM_ANALYZER_EXPORTED_EXPORTER_METADATA_H_

#include <string>
#include <string_view>

#include "analyzer/graph/graph.h"
#include "analyzer/graph/program_signature.h"

namespace onnx_mem {

// The call of the framework as the exporter wrote it (program_signature.h); "" where the file does not tell.
const std::string& FxTextOf(const Node& node);

// The same, taken apart; without a name where the file does not tell, or in another form.
FxCall FxCallOf(const Node& node);

// Path of the module whose code made the call: "layer1.0.conv1"; "" for the model's own, and where it is not reported.
std::string_view CallingModuleOf(const Node& node);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_EXPORTER_METADATA_H_
