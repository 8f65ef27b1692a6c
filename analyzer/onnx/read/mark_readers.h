// What import finds out about a stored tensor reaches lowering through the metadata of the nodes that read it (the
// keys: graph/*_mark.h): tensors have no metadata in ONNX.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_MARK_READERS_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_MARK_READERS_H_

#include <string>
#include <string_view>

#include "onnx/onnx_pb.h"

namespace onnx_mem {

// Adds {key: tensor} to the metadata of every node of `graph` that reads `tensor`.
void MarkReaders(onnx::GraphProto& graph, const std::string& tensor, std::string_view key);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_MARK_READERS_H_
