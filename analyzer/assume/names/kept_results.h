// Results that the code around a module call keeps although no node reads them any more. Nothing in a file says so: it
// is how transformers (modeling_*.py, cache_utils.py) and models built in its way are written. Likely, not certain.
//
//   x, _ = self.self_attn(x)                 attention written out hands its weights back beside its result; the layer
//                                            holds both until it returns
//   key, value = cache.update(key, value)    a decoder keeps keys and values of every layer until the model returns;
//                                            the first update concatenates with nothing, so it copies
//   outputs = self.model(ids)                a head keeps the output object of its base model until it returns itself
//   hidden = embeds = self.embed(ids)        what enters the first of a stack of layers has a name of its own, beside
//   for layer in self.layers: hidden = ...   the one that the loop assigns anew
#ifndef ONNX_MEM_ANALYZER_ASSUME_NAMES_KEPT_RESULTS_H_
#define ONNX_MEM_ANALYZER_ASSUME_NAMES_KEPT_RESULTS_H_

#include <cstdint>

#include "analyzer/assume/names/calls.h"
#include "analyzer/graph/framework_graph.h"

namespace onnx_mem::names {

// The last node during which `id` is likely held for one of these reasons, or by a module (hook_weights.h; the number
// of nodes then); -1 if for none. With `names_known` the names of the code that it is handed to are known
// (source_names.h): what is wanted is who else keeps it. `guess`: attention's weights may be handed back.
int32_t KeptUntil(const FrameworkGraph& graph, const Calls& calls, TensorId id, bool names_known = false,
                  bool guess = true);

// The last node during which a layer's caller may hold the weights that an attention in it handed back, -1 if `id` is
// none: the end of the next layer's call, which gives the name to that one's.
//
//   for layer in self.layers: outputs = layer(x); x = outputs[0]
int32_t WeightsMayBeKeptUntil(const FrameworkGraph& graph, const Calls& calls, TensorId id);

}  // namespace onnx_mem::names

#endif  // ONNX_MEM_ANALYZER_ASSUME_NAMES_KEPT_RESULTS_H_
