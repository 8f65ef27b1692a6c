// Opening a file, and importing it as often as dimensions are bound.
#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/onnx/build/bind.h"
#include "analyzer/onnx/build/build_graph.h"
#include "analyzer/onnx/build/import.h"
#include "analyzer/onnx/build/import_notes.h"
#include "analyzer/onnx/build/known_lists.h"
#include "analyzer/onnx/build/propose_sizes.h"
#include "analyzer/onnx/build/recorded.h"
#include "analyzer/onnx/build/traced_batch.h"
#include "analyzer/onnx/build/unroll.h"
#include "analyzer/onnx/infer/body.h"
#include "analyzer/onnx/infer/shapes.h"
#include "analyzer/onnx/load/deployed.h"
#include "analyzer/onnx/load/loaded_model.h"
#include "analyzer/onnx/read/annotated_model.h"
#include "analyzer/onnx/read/byte_window.h"
#include "analyzer/onnx/rebatch/rebatch.h"
#include "analyzer/record/lower/lower_record.h"
#include "analyzer/run/work.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

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

absl::StatusOr<ImportedModel> ImportRecord(const LoadedModel& file, const Bindings& bindings) {
  ImportedModel imported{.graph = {}, .info = file.info, .diagnostics = file.diagnostics};
  ASSIGN_OR_RETURN(imported.graph, GraphOfRecord(file.record, bindings, file.info.path));
  imported.info.file_batch = imported.graph.record->place.batch;
  imported.info.node_count = record::NumOperators(*file.record);
  imported.info.from_record = true;
  if (const auto& free = file.record->free; free.has_value()) {
    imported.info.bound_dims.emplace(free->name, imported.graph.record->place.length);
  }
  if (std::optional<Diagnostic> far = FarFromWatched(imported.graph)) {
    imported.diagnostics.push_back(*std::move(far));
  }
  return imported;
}

// The model with its loops written out and its lists unpacked, or null where it has none. `known` is then of it.
absl::StatusOr<std::unique_ptr<onnx::ModelProto>> Unrolled(const onnx::ModelProto& model, const Bindings& bindings,
                                                           BoundInputs& bound, Rebatched& known) {
  std::unique_ptr<onnx::ModelProto> unrolled;
  for (int depth = 0; depth < kDeepestLoop; ++depth) {
    auto next = UnrollLoops(unrolled ? *unrolled : model, known.facts);
    if (next == nullptr) next = UnpackLists(unrolled ? *unrolled : model, known.facts);
    if (next == nullptr) break;
    unrolled = std::move(next);
    work::Spend(work::kOfUnrolling * CountNodes(unrolled->graph()));
    Rebatcher once;
    ASSIGN_OR_RETURN(known, Infer(*unrolled, bindings, once, bound));
    RETURN_IF_ERROR(work::CheckLeft());
  }
  return unrolled;
}

}  // namespace

struct ModelFile::Impl : LoadedModel {
  Rebatcher rebatcher;
};

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

namespace {

// Without a batch: the first that the record holds for, as the path of batch 1 is another one.
Bindings WithBatchOf(const record::Record* record, const Bindings& requested) {
  Bindings bindings = requested;
  if (record != nullptr && !bindings.batch && bindings.inputs.empty() && !record->batches.Has(1)) {
    bindings.batch = record->batches.first;
  }
  return bindings;
}

}  // namespace

absl::StatusOr<ImportedModel> ModelFile::Import(const Bindings& requested) const {
  work::Allow(impl_->slim.empty() ? impl_->info.file_bytes : static_cast<int64_t>(impl_->slim.size()));
  RETURN_IF_ERROR(work::CheckLeft());
  Bindings bindings = WithBatchOf(impl_->record.get(), requested);
  if (impl_->record != nullptr && impl_->IsRecordAlone()) return ImportRecord(*impl_, bindings);
  ASSIGN_OR_RETURN(const std::unique_ptr<onnx::ModelProto> reshaped, WithWeightShapes(*impl_->model, bindings));
  const onnx::ModelProto& model = reshaped ? *reshaped : *impl_->model;
  absl::StatusOr<BoundInputs> bindable = BindInputs(model.graph(), bindings);
  if (!bindable.ok()) return WithProposal(bindable.status(), requested, *this);
  BoundInputs bound = *std::move(bindable);
  ImportedModel imported{.graph = {}, .info = impl_->info, .diagnostics = impl_->diagnostics};
  Rebatcher own;  // what the model's own one has learnt is of other weights
  ASSIGN_OR_RETURN(Rebatched known, Infer(model, bindings, reshaped ? own : impl_->rebatcher, bound));
  ASSIGN_OR_RETURN(const std::unique_ptr<onnx::ModelProto> unrolled, Unrolled(model, bindings, bound, known));
  ASSIGN_OR_RETURN(imported.graph, BuildGraph(unrolled ? *unrolled : model, known.facts, known.rewrites));
  Tell(impl_->contents, imported.graph);
  if (!bound.changes.empty()) NoteRebatched(bound.changes.front(), known, imported.diagnostics);
  RETURN_IF_ERROR(CheckElementCounts(imported.graph));
  RETURN_IF_ERROR(CheckSizes(imported.graph));
  imported.info.file_batch = bound.file_batch;
  if (!requested.batch && bindings.batch) imported.info.file_batch = *bindings.batch;
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
