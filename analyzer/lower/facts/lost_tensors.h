// Tensors of the module that dynamo's optimizer took out of the file -> the graph with them, as far as the exported
// program's signature and the calls on the nodes tell (graph/program_signature.h). A model that was just made is full
// of tensors with equal contents, all ones or all zeros:
//
//   layer_norm(x, ones, zeros)  layer_norm(y, ones)   one for all of equal contents (onnx_ir, DeduplicateInitializers)
//   conv(x, w)                                        no bias of zeros (onnxscript, RemoveOptionalBiasFrom...)
//
// What no operator reads any more is distinguished: parameters that are another parameter under a second name, and
// those of which neither the file nor the calls say how large they are.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_LOST_TENSORS_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_LOST_TENSORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/graph/graph.h"
#include "analyzer/lower/facts/lost_sizes.h"

namespace onnx_mem {

struct LostTensors {
  std::optional<Graph> graph;        // with what was found; empty where nothing was lost
  int64_t merged = 0;                // tensors that had become one with another
  int64_t biases = 0;                // biases of zeros
  std::vector<std::string> unknown;  // parameters that nothing in the file shows
  // What these take at most if they are as large as others of the model: the largest whose name differs in its numbers
  // alone ("layers.3.fc.weight"), else the largest of its slot in a layer of that name ("fc.weight"), else the largest
  // vector where its name says that it is one, else the largest of that last name. What is left of no layer, or of one
  // that runs, is no larger than what the exporter folded and stored. What a module computes of its own parameters is
  // no smaller than they are, and is counted for one where it stands for a layer's weight.
  MostOfLost unknown_most;
  std::vector<std::string> unread_buffers;  // that neither the file nor a call has, but for statistics of norms
};

// `graph` needs its links.
LostTensors FindLostTensors(const Graph& graph);

// True for an ATen batch norm: "aten._native_batch_norm_legit_functional.default", "aten.batch_norm.default".
bool IsBatchNormCall(const FxCall& call);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_LOST_TENSORS_H_
