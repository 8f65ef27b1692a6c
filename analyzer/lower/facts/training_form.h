// Whether a model was exported in training mode: then its dropouts are in the file, and none has to be thought of.
#ifndef ONNX_MEM_ANALYZER_LOWER_FACTS_TRAINING_FORM_H_
#define ONNX_MEM_ANALYZER_LOWER_FACTS_TRAINING_FORM_H_

#include "analyzer/graph/graph.h"

namespace onnx_mem {

bool IsTrainingForm(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_LOWER_FACTS_TRAINING_FORM_H_
