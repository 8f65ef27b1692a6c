// Graph -> the graph with convolutions and poolings in blocks of channels, as a session on the CPU computes them
// (NCHWc): a copy between layouts is a node and a tensor of its own.
//
//   x --Conv--> c --Relu--> r --Conv--> d --Split--> y, z
//   x --Conv--> c' --Relu--> r' --Conv--> d' --ReorderOutput--> d --Split--> y, z
//
// A blocked tensor has its channels rounded up to the block. Convolutions of few input channels read the plain layout;
// others, and poolings, take a plain input through a ReorderInput, one for all readers. What else computes in blocks:
// activations, sums and products of equal shapes, normalizations in inference form, concatenations of whole blocks;
// any other reader has a ReorderOutput, one for all readers.
// Source: onnxruntime/core/optimizer/nchwc_transformer.cc, conv_activation_fusion.cc.
#ifndef ONNX_MEM_ANALYZER_RUNTIMES_SESSION_LAYOUT_H_
#define ONNX_MEM_ANALYZER_RUNTIMES_SESSION_LAYOUT_H_

#include <cstddef>

#include "analyzer/graph/graph.h"

namespace onnx_mem {

inline constexpr size_t kConvolutionSum = 3;  // the input of a convolution that its result is added to

// Tensors keep their ids and must be linked; blocked ones are new. Nodes are in the order in which the session numbers
// them: those that stay plain, those in blocks in the order of execution, the copies back. What a node reads may so be
// made by a later one.
Graph WithBlockedLayout(Graph graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RUNTIMES_SESSION_LAYOUT_H_
