#include "analyzer/onnx/load/loaded_model.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/import_notes.h"
#include "analyzer/onnx/build/recorded.h"
#include "analyzer/onnx/infer/check_nodes.h"
#include "analyzer/onnx/load/check_model.h"
#include "analyzer/onnx/load/classical.h"
#include "analyzer/onnx/load/functions.h"
#include "analyzer/onnx/load/order_nodes.h"
#include "analyzer/onnx/read/kept_logits.h"
#include "analyzer/onnx/read/plain_form.h"
#include "analyzer/onnx/read/sinusoid_tables.h"
#include "analyzer/onnx/read/slim_model.h"
#include "analyzer/onnx/read/sniff.h"
#include "analyzer/onnx/read/stored_bytes.h"
#include "analyzer/onnx/read/tied_weights.h"
#include "analyzer/onnx/read/weightless.h"
#include "analyzer/record/format/decompress.h"
#include "analyzer/record/format/text.h"

namespace onnx_mem {
namespace {

bool HasScopes(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    for (const auto& entry : node.metadata_props()) {
      if (entry.key() == "pkg.torch.onnx.name_scopes" || entry.key() == "namespace") return true;
    }
  }
  return false;
}

// dynamo's exporter names nodes "node_Conv_3" and writes beside each which call of the program it was.
bool HasLostMetadata(const onnx::GraphProto& graph, const ModelInfo& info) {
  return !info.has_exporter_metadata &&
         std::any_of(graph.node().begin(), graph.node().end(),
                     [](const onnx::NodeProto& node) { return absl::StartsWith(node.name(), "node_"); });
}

Diagnostic LostMetadata() {
  return {
      .code = Code::kModulePaths,
      .severity = Severity::kWarning,
      .message = "torch.onnx.export(dynamo=True) wrote this file, and a tool removed its metadata",
      .details = {"why: what ran as one operator, in which module, and which tensors are parameters is then guessed",
                  "way out: the file as torch.onnx.export wrote it"}};
}

ModelInfo InfoOf(const onnx::ModelProto& model, const std::string& path, int64_t file_bytes) {
  ModelInfo info;
  info.path = path;
  info.producer = model.producer_name();
  if (!model.producer_version().empty()) absl::StrAppend(&info.producer, " ", model.producer_version());
  info.ir_version = model.ir_version();
  info.file_bytes = file_bytes;
  for (const auto& import : model.opset_import()) {
    int64_t& version = info.opsets[import.domain() == "ai.onnx" ? "" : import.domain()];
    version = std::max<int64_t>(version, import.version());
  }
  info.node_count = model.graph().node_size();
  info.has_exporter_metadata = HasScopes(model.graph());
  for (const auto& entry : model.metadata_props()) info.metadata[entry.key()] = entry.value();
  for (const auto& entry : model.graph().metadata_props()) info.metadata[entry.key()] = entry.value();
  return info;
}

}  // namespace

google::protobuf::ArenaOptions LoadedModel::LargeBlocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 64 << 10;
  options.max_block_size = 1 << 20;
  return options;
}

absl::Status LoadedModel::Load(ByteWindow bytes, const std::string& path) {
  const auto head = static_cast<size_t>(std::min<int64_t>(kSniffBytes, bytes.size()));
  if (record::LooksLikeRecord(bytes.At(0, head))) return LoadRecord(std::move(bytes), path);
  RETURN_IF_ERROR(CheckMagic(bytes.At(0, head), bytes.size(), path));
  ASSIGN_OR_RETURN(slim, SlimModel(bytes, path));
  model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (!model->ParseFromArray(slim.data(), static_cast<int>(slim.size()))) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kDamaged,
                       absl::StrCat("'", path, "' is damaged: its protobuf message cannot be parsed"));
  }
  if (model->opset_import().empty()) model->add_opset_import()->set_version(1);  // IR 1 and 2 had no other
  info = InfoOf(*model, path, bytes.size());
  info.weights_beside = HasWeightsBeside(model->graph(), path);
  NoteOtherPrograms(*model, diagnostics);
  ASSIGN_OR_RETURN(record, RecordOf(*model, diagnostics));
  if (record != nullptr && IsRecordAlone()) return absl::OkStatus();
  if (HasLostMetadata(model->graph(), info)) diagnostics.push_back(LostMetadata());
  CountAxesFromFirst(*model->mutable_graph());
  StoreMovedWeights(*model->mutable_graph());
  RETURN_IF_ERROR(RestoreWeights(*model, path, diagnostics));
  if (const int64_t joined = JoinTiedWeights(*model, bytes, path, contents); joined > 0) {
    diagnostics.push_back(
        {.code = Code::kTiedWeights,
         .severity = Severity::kNote,
         .count = joined,
         .message = absl::StrCat(joined, joined == 1 ? " weight is" : " weights are",
                                 " stored a second time: counted as sharing the token embedding's, whose "
                                 "contents are the same")});
  }
  FindSinusoidTables(*model, bytes, path, contents);
  if (const std::string prefix = StripPrefix(*model->mutable_graph(), contents); !prefix.empty()) {
    diagnostics.push_back({.code = Code::kWeightNames,
                           .severity = Severity::kNote,
                           .message = absl::StrCat("all names of the file begin with '", prefix,
                                                   "', which a tool put there: they are read without it")});
  }
  return Prepare();
}

absl::Status LoadedModel::LoadRecord(ByteWindow bytes, const std::string& path) {
  if (bytes.size() > record::kMostTextBytes) return BadModel(path, "is larger than any record");
  const std::string_view text = bytes.At(0, static_cast<size_t>(bytes.size()));
  ASSIGN_OR_RETURN(record::Record read, record::ParseRecord(text));
  record = std::make_shared<const record::Record>(std::move(read));
  info.path = path;
  info.producer = absl::StrCat("pytorch ", record->torch_version);
  info.file_bytes = bytes.size();
  return absl::OkStatus();
}

// Everything about the model that no binding changes.
absl::Status LoadedModel::Prepare() {
  if (model->graph().node().empty()) return BadModel(info.path, "has no nodes");
  RETURN_IF_ERROR(CheckOpset(*model, info));
  if (std::optional<Diagnostic> note = ClassicalNote(*model, info.file_bytes)) diagnostics.push_back(*std::move(note));
  ASSIGN_OR_RETURN(const InlinedFunctions inlined, InlineFunctions(*model));
  if (!inlined.other_opset.empty()) {
    diagnostics.push_back(
        {.code = Code::kFunctionOpset,
         .severity = Severity::kWarning,
         .count = static_cast<int64_t>(inlined.other_opset.size()),
         .message = absl::StrCat("functions written for another opset than the model's are read with the model's: ",
                                 absl::StrJoin(inlined.other_opset, ", "))});
  }
  if (std::optional<Diagnostic> note = KeepAllLogits(*model)) diagnostics.push_back(*std::move(note));
  RETURN_IF_ERROR(CheckTensors(model->graph(), info.path));
  RETURN_IF_ERROR(CheckNodes(*model));
  ASSIGN_OR_RETURN(const bool sorted, OrderNodes(*model->mutable_graph()));
  if (sorted) {
    diagnostics.push_back({.code = Code::kNodeOrder,
                           .severity = Severity::kNote,
                           .message = "the file's nodes are not in an order in which they can run; they were sorted"});
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
