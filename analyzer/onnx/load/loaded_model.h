// A file understood as far as no binding matters: its protobuf without weights, functions inlined, nodes in order; what
// is known of the file; its record of the running model.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_LOADED_MODEL_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_LOADED_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/onnx/read/byte_window.h"
#include "analyzer/onnx/read/seen_contents.h"
#include "analyzer/record/format/record.h"
#include "google/protobuf/arena.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

struct LoadedModel {
  google::protobuf::Arena arena{LargeBlocks()};
  std::string slim;                   // the file's bytes without its weights
  onnx::ModelProto* model = nullptr;  // of them, on the arena
  SeenContents contents;
  ModelInfo info;  // all but what bindings decide
  std::vector<Diagnostic> diagnostics;
  std::shared_ptr<const record::Record> record;  // null: the file has none, or none that can be used

  // Whether there is no graph to analyze: a file of bare text, or a model that no exporter could write. With a second
  // free size the graph would have to follow it as well, and the record needs none.
  bool IsRecordAlone() const {
    return model == nullptr || model->graph().node().empty() || (record != nullptr && record->free);
  }
  absl::Status Load(ByteWindow bytes, const std::string& path);

 private:
  static google::protobuf::ArenaOptions LargeBlocks();
  absl::Status LoadRecord(ByteWindow bytes, const std::string& path);
  absl::Status Prepare();
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_LOADED_MODEL_H_
