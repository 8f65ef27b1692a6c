// Opening a file, and importing it as often as dimensions are bound.
#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/build/bind.h"
#include "analyzer/onnx/build/build_graph.h"
#include "analyzer/onnx/build/classical.h"
#include "analyzer/onnx/build/deployed.h"
#include "analyzer/onnx/build/functions.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/onnx/build/import_notes.h"
#include "analyzer/onnx/build/known_lists.h"
#include "analyzer/onnx/build/order_nodes.h"
#include "analyzer/onnx/build/propose_sizes.h"
#include "analyzer/onnx/build/recorded.h"
#include "analyzer/onnx/build/traced_batch.h"
#include "analyzer/onnx/build/unroll.h"
#include "analyzer/onnx/infer/check_nodes.h"
#include "analyzer/onnx/infer/schemas.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/read/annotated_model.h"
#include "analyzer/onnx/read/byte_window.h"
#include "analyzer/onnx/read/kept_logits.h"
#include "analyzer/onnx/read/plain_form.h"
#include "analyzer/onnx/read/sinusoid_tables.h"
#include "analyzer/onnx/read/slim_model.h"
#include "analyzer/onnx/read/sniff.h"
#include "analyzer/onnx/read/stored_bytes.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "analyzer/onnx/read/tied_weights.h"
#include "analyzer/onnx/read/weightless.h"
#include "analyzer/onnx/rebatch/rebatch.h"
#include "analyzer/record/decompress.h"
#include "analyzer/record/text.h"
#include "analyzer/run/work.h"
#include "google/protobuf/arena.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

absl::Status BadModel(const std::string& path, const std::string& what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadModel, absl::StrCat("'", path, "' ", what));
}

absl::Status CheckOpset(const onnx::ModelProto& model, const ModelInfo& info) {
  for (const auto& import : model.opset_import()) {
    if (import.version() >= 0) continue;
    return BadModel(info.path, absl::StrCat("imports version ", import.version(), " of the operators of domain '",
                                            import.domain(), "'"));
  }
  const int64_t newest = NewestOpset();
  const auto opset = info.opsets.find("");
  if (opset == info.opsets.end() || opset->second <= newest) return absl::OkStatus();
  return ErrorStatus(
      absl::StatusCode::kUnimplemented, Code::kOpsetTooNew,
      absl::StrCat("opset ", opset->second, " of domain '' is newer than this build knows (", newest, ")"),
      {"try: a newer onnx-mem, or export with an older opset_version"});
}

absl::Status NoSuchType(const std::string& path, const std::string& name, int32_t type) {
  return BadModel(path, absl::StrCat("gives '", name, "' elements of type ", type, ", which ONNX does not have"));
}

// Sizes that no tensor has would pass for unknown ones later, and types that there are not for such without bytes.
absl::Status CheckTensor(const onnx::TensorProto& tensor, const std::string& path) {
  const int32_t type = tensor.data_type();
  if (type == onnx::TensorProto::UNDEFINED || !onnx::TensorProto::DataType_IsValid(type)) {
    return NoSuchType(path, tensor.name(), type);
  }
  const Shape shape(Dims(tensor.dims().begin(), tensor.dims().end()));
  if (shape.known() && NumBytes(shape, DTypeOf(tensor.data_type()))) return absl::OkStatus();
  return BadModel(path, absl::StrCat("holds the tensor '", tensor.name(), "' of impossible size [",
                                     absl::StrJoin(tensor.dims(), ", "), "]"));
}

absl::Status CheckValueType(const onnx::ValueInfoProto& value, const std::string& path) {
  const int32_t type = value.type().has_tensor_type() ? value.type().tensor_type().elem_type() : 0;
  return onnx::TensorProto::DataType_IsValid(type) ? absl::OkStatus() : NoSuchType(path, value.name(), type);
}

absl::Status CheckTensors(const onnx::GraphProto& graph, const std::string& path) {
  for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *values) RETURN_IF_ERROR(CheckValueType(value, path));
  }
  for (const auto& tensor : graph.initializer()) RETURN_IF_ERROR(CheckTensor(tensor, path));
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) RETURN_IF_ERROR(CheckTensor(attribute.t(), path));
      if (attribute.has_g()) RETURN_IF_ERROR(CheckTensors(attribute.g(), path));
      for (const auto& body : attribute.graphs()) RETURN_IF_ERROR(CheckTensors(body, path));
    }
  }
  return absl::OkStatus();
}

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
                  "try: the file as torch.onnx.export wrote it"}};
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

google::protobuf::ArenaOptions LargeBlocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 64 << 10;
  options.max_block_size = 1 << 20;
  return options;
}

void NoteRebatched(const BoundInputs& bound, const Rebatched& rebatched, ImportedModel& imported) {
  const DimChange& first = bound.changes.front();
  Diagnostic note{.code = Code::kRebatched, .severity = Severity::kNote, .count = rebatched.followed};
  note.message = first.dim == 0 ? absl::StrCat("exported with a fixed batch of ", first.from,
                                               "; read as if exported with ", first.to)
                                : absl::StrCat("exported with a fixed size of ", first.from, " for '", first.input,
                                               "'; read as if exported with ", first.to);
  note.details.push_back(absl::StrCat("why: ", rebatched.followed,
                                      rebatched.followed == 1 ? " constant or input" : " constants and inputs",
                                      " that carry the size were made to follow it"));
  if (!rebatched.unreached.empty()) {
    const auto heavy = std::find_if(rebatched.unreached.begin(), rebatched.unreached.end(),
                                    [](const auto& value) { return value.second; });
    const bool computed = heavy != rebatched.unreached.end();
    const auto count = static_cast<int64_t>(rebatched.unreached.size());
    note.details.push_back(absl::StrCat("why: ", count, count == 1 ? " value" : " values", " that no input reaches ",
                                        count == 1 ? "stays" : "stay", " at a batch of 1, such as '",
                                        (computed ? heavy : rebatched.unreached.begin())->first, "'"));
    if (computed) {
      note.severity = Severity::kWarning;
      note.details.emplace_back("why: a batch of 1 does not tell them apart");
      note.details.emplace_back(kExportRecipe);
    }
  }
  imported.diagnostics.push_back(std::move(note));
}

// A copy of `model` in which weights have the shapes that `bindings.inputs` gives them, and those names taken out of
// it; null where it names none. Their contents are then unknown.
absl::StatusOr<std::unique_ptr<onnx::ModelProto>> WithWeightShapes(const onnx::ModelProto& model, Bindings& bindings) {
  std::map<std::string, Dims> weights;
  if (bindings.inputs.empty()) return std::unique_ptr<onnx::ModelProto>();
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    auto requested = bindings.inputs.extract(tensor.name());
    if (requested.empty()) continue;
    if (static_cast<int>(requested.mapped().size()) != tensor.dims_size()) {
      return ErrorStatus(
          absl::StatusCode::kInvalidArgument, Code::kBadShape,
          absl::StrCat("--input ", tensor.name(), ": the weight has ", tensor.dims_size(), " dimensions"));
    }
    weights.insert(std::move(requested));
  }
  if (weights.empty()) return std::unique_ptr<onnx::ModelProto>();
  auto copy = std::make_unique<onnx::ModelProto>(model);
  for (onnx::TensorProto& tensor : *copy->mutable_graph()->mutable_initializer()) {
    const auto requested = weights.find(tensor.name());
    if (requested == weights.end()) continue;
    onnx::TensorProto shaped;
    shaped.set_name(tensor.name());
    shaped.set_data_type(tensor.data_type());
    for (int64_t dim : requested->second) shaped.add_dims(dim);
    tensor = std::move(shaped);
  }
  return copy;
}

// `error` of a model of which a dimension has no size, with the options that would give it one.
absl::Status WithProposal(const absl::Status& error, const Bindings& given, const ModelFile& file) {
  Diagnostic diagnostic = DiagnosticOf(error);
  if (diagnostic.code != Code::kUnboundDim) return error;
  const absl::StatusOr<Bindings> sizes = file.WithSizes(given);
  if (!sizes.ok() || *sizes == given) return error;
  diagnostic.details.push_back(absl::StrCat("try: ... ", OptionsText(given, *sizes)));
  return ErrorStatus(error.code(), diagnostic.code, diagnostic.message, diagnostic.details);
}

// Loops inside loops that are unrolled, and lists that only then are known.
constexpr int kDeepestLoop = 8;

// The shapes of `model` with its inputs bound as `bound` says. Where they contradict a batch that the file holds as a
// number, the changes that let it follow are added to `bound`. `rebatcher` has learnt about this very model.
absl::StatusOr<Rebatched> Infer(const onnx::ModelProto& model, const Bindings& bindings, Rebatcher& rebatcher,
                                BoundInputs& bound) {
  if (bound.changes.empty()) {
    absl::StatusOr<InferredGraph> facts = InferShapes(model, {.input_shapes = &bound.shapes});
    if (facts.ok()) return Rebatched{.facts = *std::move(facts), .rewrites = {}, .unreached = {}};
    if (DiagnosticOf(facts.status()).code != Code::kBadShape) return facts.status();
    std::optional<BoundInputs> changed = ChangesFromTracedBatch(model, bindings, bound);
    if (!changed) return facts.status();
    bound = *std::move(changed);
  }
  return rebatcher.Infer(model, bound);
}

void Tell(const SeenContents& contents, Graph& graph) {
  if (contents.empty()) return;
  for (TensorId id : graph.initializers) {
    Tensor& tensor = graph.tensors[id];
    if (const auto seen = contents.find(tensor.name); seen != contents.end()) tensor.contents = seen->second;
  }
}

}  // namespace

struct ModelFile::Impl {
  google::protobuf::Arena arena{LargeBlocks()};
  std::string slim;                   // the file's bytes without its weights
  onnx::ModelProto* model = nullptr;  // of them, on the arena; functions inlined, nodes in order
  SeenContents contents;
  ModelInfo info;  // all but what bindings decide
  std::vector<Diagnostic> diagnostics;
  Rebatcher rebatcher;
  std::shared_ptr<const record::Record> record;  // null: the file has none, or none that can be used

  // Whether there is no graph to analyze: a file of bare text, or a model that no exporter could write. With a second
  // free size the graph would have to follow it as well, and the record needs none.
  bool IsRecordAlone() const {
    return model == nullptr || model->graph().node().empty() || (record != nullptr && record->free);
  }
  absl::Status LoadRecord(ByteWindow bytes, const std::string& path);
  absl::StatusOr<ImportedModel> ImportRecord(const Bindings& bindings) const;
  absl::Status Load(ByteWindow bytes, const std::string& path);
  absl::Status Prepare();
};

absl::Status ModelFile::Impl::Load(ByteWindow bytes, const std::string& path) {
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

absl::Status ModelFile::Impl::LoadRecord(ByteWindow bytes, const std::string& path) {
  if (bytes.size() > record::kMostTextBytes) return BadModel(path, "is larger than any record");
  const std::string_view text = bytes.At(0, static_cast<size_t>(bytes.size()));
  ASSIGN_OR_RETURN(record::Record read, record::ParseRecord(text));
  record = std::make_shared<const record::Record>(std::move(read));
  info.path = path;
  info.producer = absl::StrCat("pytorch ", record->torch_version);
  info.file_bytes = bytes.size();
  return absl::OkStatus();
}

absl::StatusOr<ImportedModel> ModelFile::Impl::ImportRecord(const Bindings& bindings) const {
  ImportedModel imported{.graph = {}, .info = info, .diagnostics = diagnostics};
  ASSIGN_OR_RETURN(imported.graph, GraphOfRecord(record, bindings, info.path));
  imported.info.node_count = record::NumOperators(*record);
  imported.info.from_record = true;
  if (std::optional<Diagnostic> far = FarFromWatched(imported.graph)) {
    imported.diagnostics.push_back(*std::move(far));
  }
  return imported;
}

// Everything about the model that no binding changes.
absl::Status ModelFile::Impl::Prepare() {
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

ModelFile::ModelFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ModelFile::ModelFile(ModelFile&&) noexcept = default;
ModelFile& ModelFile::operator=(ModelFile&&) noexcept = default;
ModelFile::~ModelFile() = default;

std::string_view ModelFile::WhyDeployed() const {
  return impl_->record != nullptr || impl_->model == nullptr ? "" : onnx_mem::WhyDeployed(*impl_->model);
}

bool ModelFile::IsOfClassicalLibrary() const {
  return impl_->model != nullptr && onnx_mem::IsOfClassicalLibrary(*impl_->model);
}

bool ModelFile::IsTrainable() const {
  return impl_->record != nullptr || impl_->model == nullptr || onnx_mem::IsTrainable(*impl_->model);
}

std::string ModelFile::Annotated(const std::map<std::string, NodeNote>& notes) const {
  return AnnotatedModel(impl_->slim, notes);
}

absl::StatusOr<ModelFile> ModelFile::Open(const std::string& path) {
  ASSIGN_OR_RETURN(ByteWindow bytes, ByteWindow::OverFile(path));
  auto impl = std::make_unique<Impl>();
  RETURN_IF_ERROR(impl->Load(std::move(bytes), path));
  return ModelFile(std::move(impl));
}

absl::StatusOr<ModelFile> ModelFile::Parse(std::string bytes, const std::string& name) {
  auto impl = std::make_unique<Impl>();
  RETURN_IF_ERROR(impl->Load(ByteWindow::OverMemory(bytes), name));
  return ModelFile(std::move(impl));
}

bool ModelFile::LeavesOpen(const Bindings& bindings) const {
  if (impl_->record != nullptr && impl_->IsRecordAlone()) return false;
  const absl::StatusOr<OpenInputs> found = FindOpenInputs(impl_->model->graph(), bindings);
  return found.ok() && !found->open.empty();
}

absl::StatusOr<Bindings> ModelFile::WithSizes(const Bindings& given) const {
  if (impl_->record != nullptr && impl_->IsRecordAlone()) return given;
  Bindings bindings = given;
  ASSIGN_OR_RETURN(const std::unique_ptr<onnx::ModelProto> reshaped, WithWeightShapes(*impl_->model, bindings));
  const onnx::ModelProto& model = reshaped ? *reshaped : *impl_->model;
  ASSIGN_OR_RETURN(std::vector<Bindings> proposals, ProposeSizes(model, bindings));
  if (proposals.empty()) return given;
  for (Bindings& proposal : proposals) {
    const absl::StatusOr<BoundInputs> bound = BindInputs(model.graph(), proposal);
    proposal.inputs.insert(given.inputs.begin(), given.inputs.end());  // those of weights are back with the others
    const bool infers = bound.ok() && InferShapes(model, {.input_shapes = &bound->shapes}).ok();
    if (infers && Import(proposal).ok()) return std::move(proposal);
  }
  return std::move(proposals.front());
}

absl::StatusOr<ImportedModel> ModelFile::Import(const Bindings& requested) const {
  work::Allow(impl_->slim.empty() ? impl_->info.file_bytes : static_cast<int64_t>(impl_->slim.size()));
  RETURN_IF_ERROR(work::CheckLeft());
  if (impl_->record != nullptr && impl_->IsRecordAlone()) return impl_->ImportRecord(requested);
  Bindings bindings = requested;
  ASSIGN_OR_RETURN(const std::unique_ptr<onnx::ModelProto> reshaped, WithWeightShapes(*impl_->model, bindings));
  const onnx::ModelProto& model = reshaped ? *reshaped : *impl_->model;
  absl::StatusOr<BoundInputs> bindable = BindInputs(model.graph(), bindings);
  if (!bindable.ok()) return WithProposal(bindable.status(), requested, *this);
  BoundInputs bound = *std::move(bindable);
  ImportedModel imported{.graph = {}, .info = impl_->info, .diagnostics = impl_->diagnostics};
  Rebatcher own;  // what the model's own one has learnt is of other weights
  ASSIGN_OR_RETURN(Rebatched known, Infer(model, bindings, reshaped ? own : impl_->rebatcher, bound));
  std::unique_ptr<onnx::ModelProto> unrolled;
  for (int depth = 0; depth < kDeepestLoop; ++depth) {
    auto next = UnrollLoops(unrolled ? *unrolled : model, known.facts);
    if (next == nullptr) next = UnpackLists(unrolled ? *unrolled : model, known.facts);
    if (next == nullptr) break;
    unrolled = std::move(next);
    Rebatcher once;
    ASSIGN_OR_RETURN(known, Infer(*unrolled, bindings, once, bound));
  }
  ASSIGN_OR_RETURN(imported.graph, BuildGraph(unrolled ? *unrolled : model, known.facts, known.rewrites));
  Tell(impl_->contents, imported.graph);
  if (!bound.changes.empty()) NoteRebatched(bound, known, imported);
  RETURN_IF_ERROR(CheckElementCounts(imported.graph));
  RETURN_IF_ERROR(CheckSizes(imported.graph));
  imported.info.file_batch = bound.file_batch;
  if (!bindings.batch && !bindings.inputs.empty()) {
    const Dims& dims = bindings.inputs.begin()->second;
    if (!dims.empty()) imported.info.file_batch = dims.front();
  }
  imported.graph.batch = bindings.batch.value_or(imported.info.file_batch);
  imported.info.bound_dims = std::move(bound.dims);
  AddImportNotes(model, imported);
  if (impl_->record != nullptr) {
    BindRecord(impl_->record, bindings.batch.value_or(imported.info.file_batch), imported);
  }
  return imported;
}

}  // namespace onnx_mem
