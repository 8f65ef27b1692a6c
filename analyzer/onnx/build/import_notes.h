// What an import had to assume, and what it would have needed.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_IMPORT_NOTES_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_IMPORT_NOTES_H_

#include <vector>

#include "absl/status/status.h"
#include "analyzer/onnx/build/import.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

struct DimChange;
struct Rebatched;

// ONNX's own inference accepts a Reshape whose element counts differ; a wrong batch then continues unseen.
// Errors (InvalidArgument): bad-shape naming the node.
absl::Status CheckElementCounts(const Graph& graph);

// OK iff the sizes of all tensors, and their sum, leave sums over a step within 64 bits. Errors: too-large with the
// tensor.
absl::Status CheckSizes(const Graph& graph);

// Warnings of programs in the file that are not read: a training step of ONNX's own (training_info), and one for
// several devices, over which nodes spread their tensors.
void NoteOtherPrograms(const onnx::ModelProto& model, std::vector<Diagnostic>& notes);

// rebatched: the file's sizes were fixed, `first` is one of those that changed.
void NoteRebatched(const DimChange& first, const Rebatched& rebatched, std::vector<Diagnostic>& notes);

// Adds diagnostics custom-op (operators that no schema knows), no-data (contents in a file that is not read, where they
// would have determined a shape), unknown-size (sizes that depend on data).
void AddImportNotes(const onnx::ModelProto& model, ImportedModel& imported);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_IMPORT_NOTES_H_
