// .onnx -> Graph: the file read, its dimensions bound, every shape inferred, shape arithmetic folded.
#ifndef ONNX_MEM_ANALYZER_ONNX_BUILD_IMPORT_H_
#define ONNX_MEM_ANALYZER_ONNX_BUILD_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/graph.h"
#include "analyzer/onnx/read/annotated_model.h"

namespace onnx_mem {

// Values that the user gives to the model's free dimensions.
struct Bindings {
  std::optional<int64_t> batch = {};         // dim 0 of every input, whatever it is called
  std::map<std::string, int64_t> dims = {};  // --dim NAME=N
  std::map<std::string, Dims> inputs = {};   // --input NAME=1x3x224x224: the whole shape of one input
  friend bool operator==(const Bindings&, const Bindings&) = default;
};

struct ModelInfo {
  std::string path;
  std::string producer;  // "pytorch 2.15.0"
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  // domain -> version, "" for ai.onnx
  int64_t file_bytes = 0;
  int64_t node_count = 0;                       // of the file's main graph
  bool has_exporter_metadata = false;           // module scopes on nodes (dynamo exports)
  int64_t file_batch = 1;                       // dim 0 of the inputs as the file gives it; 1 where it is symbolic
  std::map<std::string, int64_t> bound_dims;    // every symbolic dimension and the value used
  bool from_record = false;                     // what is analyzed: a record of the running model, not the file's graph
  bool weights_beside = false;                  // in a file of their own, which is there
  std::map<std::string, std::string> metadata;  // the model's and the graph's metadata_props
};

struct ImportedModel {
  Graph graph;  // passes VerifyGraph
  ModelInfo info;
  std::vector<Diagnostic> diagnostics;
};

// A file that is open and understood down to its protobuf, without its weights. Binding dimensions several times
// (a batch sweep) reads the file once.
class ModelFile {
 public:
  // Errors (ux.md 1.6) have the codes not-found, unreadable, empty, truncated, damaged, not-onnx, lfs-pointer,
  // bad-model, opset-too-new.
  static absl::StatusOr<ModelFile> Open(const std::string& path);
  // The same from bytes in memory, for tests and fuzzing; `name` stands for the path.
  static absl::StatusOr<ModelFile> Parse(std::string bytes, const std::string& name);

  ModelFile(ModelFile&&) noexcept;
  ModelFile& operator=(ModelFile&&) noexcept;
  ~ModelFile();

  // Binds dimensions and infers every shape. Errors: unbound-dim, unknown-dim, unknown-input, dim-conflict,
  // static-batch, bad-shape.
  absl::StatusOr<ImportedModel> Import(const Bindings& bindings) const;
  // Whether some dimension has no size with `bindings`: Import would end in unbound-dim.
  bool LeavesOpen(const Bindings& bindings) const;
  // `bindings` with sizes that the graph accepts for what they leave open: of a decoder 496 tokens of cache and 16 new
  // ones. Errors: those of Import but unbound-dim.
  absl::StatusOr<Bindings> WithSizes(const Bindings& bindings) const;

  // The file as a viewer wants it: without its weights, each node that `notes` names with what they say, as its doc
  // string and as metadata. "" where there is no graph in the file.
  std::string Annotated(const std::map<std::string, NodeNote>& notes) const;

  // Why it is taken as made for onnxruntime ("quantized"); "" for a model that is not, or that has a record.
  std::string_view WhyDeployed() const;
  // Trees and the like, and networks of the libraries that have those: made for the CPU.
  bool IsOfClassicalLibrary() const;
  // Whether PyTorch could train it: not a file whose weights are integers by now, nor one of such a library.
  bool IsTrainable() const;

 private:
  struct Impl;  // holds the protobuf, which stays inside analyzer/onnx
  explicit ModelFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_BUILD_IMPORT_H_
