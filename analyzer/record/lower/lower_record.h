// A recorded program at one batch -> what runs. Nothing is assumed but the rules of operators that the table does not
// have: every operator, name, release and view is as it was seen.
#ifndef ONNX_MEM_ANALYZER_RECORD_LOWER_LOWER_RECORD_H_
#define ONNX_MEM_ANALYZER_RECORD_LOWER_LOWER_RECORD_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "analyzer/graph/graph.h"
#include "analyzer/graph/lowered.h"
#include "analyzer/record/format/record.h"
#include "analyzer/run/run.h"

namespace onnx_mem {

// The record that a graph has beside it, and the sizes that the graph was bound to.
struct BoundRecord {
  std::shared_ptr<const record::Record> record;
  record::Place place = {};
};

// `program train` for a training run, `program eval` for an inference; where the record has one of them only, that one.
// A node is called by its operator and line, a tensor by its value ("addmm:57", "%31"; "%31.2" once it was written
// over), what is stored or fed by its name. run.dtype changes every float32 tensor, as module.to() does.
// Errors: InvalidArgument "bad-record" where sizes are no whole numbers at this batch.
absl::StatusOr<Lowered> LowerRecord(const BoundRecord& bound, const Run& run);

namespace record {

// The same of one program (lower_lines.cc), whichever the record has.
absl::StatusOr<Lowered> LowerLines(const Program& program, const Place& place, const Run& run);

}  // namespace record

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_RECORD_LOWER_LOWER_RECORD_H_
