// A record of the running model beside a graph, or instead of one: found in the file, held against the graph, bound to
// the batch.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_RECORDED_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_RECORDED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/record/format/record.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace onnx_mem {

// SHA-256 (hex) of the graph's skeleton: what an edit (a simplifier, a quantizer) changes, and stripping weights does
// not. Over lines `input NAME`, `initializer NAME DATA_TYPE d,d` (sorted by name), `node DOMAIN:OP in,in -> out,out`,
// `output NAME`, each with a line feed.
std::string GraphHash(const onnx::GraphProto& graph);

// The record in the file's metadata; null, and a diagnostic ("record-stale", "bad-record"), where the graph was changed
// since or it cannot be read; null where there is none. A diagnostic "record-unverified" where the graph names nothing
// to hold it against. Error: InvalidArgument "record-mismatch" where it is of another model than the graph.
absl::StatusOr<std::shared_ptr<const record::Record>> RecordOf(const onnx::ModelProto& model,
                                                               std::vector<Diagnostic>& diagnostics);

// Puts the record beside the graph, unless the graph was bound to other sizes than the record has at `batch`
// (diagnostic "record-sizes").
void BindRecord(std::shared_ptr<const record::Record> record, int64_t batch, ImportedModel& model);

// A graph of the record's own: its inputs, stored tensors and outputs, no nodes. Error: InvalidArgument "bad-record";
// "unknown-dim", "unknown-input" for bindings other than the batch and the record's free size; "record-sizes" where it
// does not hold at that.
absl::StatusOr<Graph> GraphOfRecord(std::shared_ptr<const record::Record> record, const Bindings& bindings,
                                    const std::string& path);

// How a record is made that follows a size beside the batch.
std::string FreeSizeRecipe(const std::string& name);

// The size beside the batch that the graph's record leaves free; nullptr where there is none.
const record::FreeSize* FreeSizeOf(const Graph& graph);

// Reported where a record's free size lies outside of what the model was watched at.
std::optional<Diagnostic> FarFromWatched(const Graph& graph);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_RECORDED_H_
