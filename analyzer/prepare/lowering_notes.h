// What is reported of a lowering: what was assumed, and what the file did not show.
#ifndef ONNX_MEM_ANALYZER_PREPARE_LOWERING_NOTES_H_
#define ONNX_MEM_ANALYZER_PREPARE_LOWERING_NOTES_H_

#include <string>
#include <vector>

#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/graph/program_signature.h"
#include "analyzer/lower/draft/draft.h"
#include "analyzer/lower/facts/lost_tensors.h"
#include "analyzer/lower/operators/site.h"

namespace onnx_mem {

void ReportAssumed(const Lowering& lowering, std::vector<Diagnostic>& diagnostics);
void ReportLostTensors(const LostTensors& lost, bool training, Lowered& lowered);
// What lost layers make, if forward runs them, once the graph is known.
void AddDeadBranches(const LostTensors& lost, bool training, Lowered& lowered);
void ReportUnreadBuffers(const LostTensors& lost, const ProgramSignature& signature, Lowered& lowered);
void ReportInPlace(const Draft& draft, std::vector<Diagnostic>& diagnostics);
void ReportMaybeInPlace(const Draft& draft, std::vector<Diagnostic>& diagnostics);
void AssumeSourceLines(const Draft& draft, std::vector<std::string>& assumptions);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_PREPARE_LOWERING_NOTES_H_
