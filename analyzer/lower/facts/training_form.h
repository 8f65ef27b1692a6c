// Whether a model was exported in training mode: its dropouts are then in the file, and none has to be assumed.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_TRAINING_FORM_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_TRAINING_FORM_H_

#include "analyzer/graph/graph.h"

namespace onnx_mem {

bool IsTrainingForm(const Graph& graph);

// True for noise of zeros and ones that is divided by its probability: in inference nobody draws it, and what it would
// be multiplied with stays as it is.
bool IsScaledNoise(const Graph& graph, TensorId id);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_TRAINING_FORM_H_
