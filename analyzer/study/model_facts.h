// What an answer takes over from a model that was enacted or imported.
#ifndef ONNX_MEM_ANALYZER_STUDY_MODEL_FACTS_H_
#define ONNX_MEM_ANALYZER_STUDY_MODEL_FACTS_H_

#include <memory>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/enact.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/build/import.h"

namespace onnx_mem {

void CopyModelFacts(const Enacted& enacted, Analysis& analysis);

void CopyFindings(const Enacted& enacted, Analysis& analysis);

// Diagnostics after which a figure is a lower bound: sizes or whole operators are missing from the sum.
bool IsLowerBound(const std::vector<Diagnostic>& diagnostics);

// A body that runs several times saves something in each run, of which one is counted.
bool HasOpaqueBodies(const std::vector<Diagnostic>& diagnostics);

// The imported graph's tensors get the names that reports give the parameters.
std::shared_ptr<const Graph> WithPaths(const std::vector<Parameter>& parameters,
                                       const std::shared_ptr<const ImportedModel>& model);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_STUDY_MODEL_FACTS_H_
