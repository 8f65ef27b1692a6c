#include "analyzer/onnx/build/recorded.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/read/sha256.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "analyzer/record/binding/graph_face.h"
#include "analyzer/record/format/decompress.h"
#include "analyzer/record/format/text.h"
#include "analyzer/record/lower/lower_record.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

constexpr char kProgramKey[] = "onnx_mem.program";
constexpr char kGraphHashKey[] = "onnx_mem.graph_hash";

std::string MetadataOf(const onnx::ModelProto& model, std::string_view key) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return "";
}

record::FaceTensor FaceOf(const onnx::ValueInfoProto& value) {
  record::FaceTensor tensor{.name = value.name()};
  const auto& type = value.type().tensor_type();
  tensor.dtype = DTypeOf(type.elem_type());
  if (!type.has_shape()) return tensor;
  tensor.dims.emplace();
  for (const auto& dim : type.shape().dim()) {
    const int64_t open = dim.dim_param() == "batch" ? record::kBatchSize : record::kAnySize;
    tensor.dims->push_back(dim.has_dim_value() ? dim.dim_value() : open);
  }
  return tensor;
}

// Names of what nodes read, of that beyond its shape, and of weights of convolutions.
struct ReadNames {
  std::set<std::string_view> all = {}, convolved = {};
  bool computes = false;

  void Add(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    for (const onnx::NodeProto& node : nodes) {
      const std::string& op = node.op_type();
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) Add(attribute.g().node());
        for (const auto& body : attribute.graphs()) Add(body.node());
      }
      if (op == "Shape" || op == "Size" || op == "Constant") continue;
      computes = computes || op != "Identity";
      all.insert(node.input().begin(), node.input().end());
      if ((op == "Conv" || op == "ConvTranspose") && node.input_size() > 1) convolved.insert(node.input(1));
    }
  }
};

record::GraphFace FaceOf(const onnx::GraphProto& graph) {
  ReadNames reads;
  reads.Add(graph.node());
  record::GraphFace face{.computes = reads.computes};
  std::set<std::string_view> stored;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    stored.insert(tensor.name());
    face.stored.push_back({.name = tensor.name(),
                           .dtype = DTypeOf(tensor.data_type()),
                           .dims = std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end())});
  }
  for (const auto& input : graph.input()) {
    if (!stored.contains(input.name())) face.inputs.push_back(FaceOf(input));
  }
  for (const auto& output : graph.output()) face.outputs.push_back(FaceOf(output));
  for (auto* tensors : {&face.stored, &face.inputs}) {
    for (record::FaceTensor& tensor : *tensors) {
      tensor.read = reads.all.contains(tensor.name);
      tensor.convolved = reads.convolved.contains(tensor.name);
    }
  }
  return face;
}

absl::Status HoldAgainstGraph(const record::Record& record, const onnx::GraphProto& graph,
                              std::vector<Diagnostic>& diagnostics) {
  const record::GraphFace face = FaceOf(graph);
  if (record::CanCheck(record, face)) return record::CheckFace(record, face);
  diagnostics.push_back({.code = Code::kRecordUnverified,
                         .severity = Severity::kWarning,
                         .message = "the file's record of the running model cannot be checked: the graph beside it "
                                    "names no inputs, or no parameters",
                         .details = {"try: onnx_mem.export(model, args, path)   # in Python, again"}});
  return absl::OkStatus();
}

// Whether the graph's inputs have sizes of inputs of the record; an export leaves out those that nothing reads.
bool HasInputsOf(const Lowered& lowered, const Graph& graph) {
  std::multiset<Dims> left;
  for (TensorId id : lowered.graph.inputs) {
    const size_t others = lowered.other_names.contains(id) ? lowered.other_names.at(id).size() : 0;
    for (size_t i = 0; i <= others; ++i) left.insert(lowered.graph.tensors[id].shape.dims);
  }
  for (TensorId id : graph.inputs) {
    if (left.extract(graph.tensors[id].shape.dims).empty()) return false;
  }
  return true;
}

}  // namespace

std::string FreeSizeRecipe(const std::string& name) {
  return absl::StrCat("in Python: onnx_mem.export(model, args, \"model.onnx\", free={\"", name,
                      "\": 1}), where it is dimension 1 of the inputs");
}

std::string GraphHash(const onnx::GraphProto& graph) {
  std::string text;
  for (const auto& input : graph.input()) absl::StrAppend(&text, "input ", input.name(), "\n");
  std::multimap<std::string_view, const onnx::TensorProto*> stored;
  for (const auto& tensor : graph.initializer()) stored.emplace(tensor.name(), &tensor);
  for (const auto& [name, tensor] : stored) {
    absl::StrAppend(&text, "initializer ", tensor->name(), " ", tensor->data_type(), " ",
                    absl::StrJoin(tensor->dims(), ","), "\n");
  }
  for (const auto& node : graph.node()) {
    absl::StrAppend(&text, "node ", node.domain(), ":", node.op_type(), " ", absl::StrJoin(node.input(), ","), " -> ",
                    absl::StrJoin(node.output(), ","), "\n");
  }
  for (const auto& output : graph.output()) absl::StrAppend(&text, "output ", output.name(), "\n");
  return Sha256(text);
}

absl::StatusOr<std::shared_ptr<const record::Record>> RecordOf(const onnx::ModelProto& model,
                                                               std::vector<Diagnostic>& diagnostics) {
  const std::string packed = MetadataOf(model, kProgramKey);
  if (packed.empty()) return nullptr;
  if (MetadataOf(model, kGraphHashKey) != GraphHash(model.graph())) {
    diagnostics.push_back({.code = Code::kRecordStale,
                           .severity = Severity::kWarning,
                           .message =
                               "the file carries a record of the running model, but its graph was changed since: "
                               "the graph is what is analyzed",
                           .details = {std::string(kExportRecipe)}});
    return nullptr;
  }
  absl::StatusOr<std::string> text = record::Unpack(packed);
  absl::StatusOr<record::Record> read =
      text.ok() ? record::ParseRecord(*text, static_cast<int64_t>(packed.size())) : text.status();
  if (read.ok() && read->later_call) {
    read = ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadRecord,
                       "it is of a whole training step, which has no graph beside it");
  }
  if (!read.ok()) {
    diagnostics.push_back({.code = Code::kBadRecord,
                           .severity = Severity::kWarning,
                           .message = absl::StrCat("the file's record of the running model cannot be read: ",
                                                   DiagnosticOf(read.status()).message),
                           .details = {"why: the graph is what is analyzed"}});
    return nullptr;
  }
  RETURN_IF_ERROR(HoldAgainstGraph(*read, model.graph(), diagnostics));
  return std::make_shared<const record::Record>(*std::move(read));
}

namespace {

// Where the model takes another path than the one that was recorded; nullopt where it does not.
std::optional<Diagnostic> BeyondBatches(const record::Record& record, int64_t batch) {
  const record::BatchRange& range = record.batches;
  if (range.Has(batch)) return std::nullopt;
  const std::string held = range.first == range.last ? absl::StrCat("for batch ", range.first, " alone")
                           : batch > range.last      ? absl::StrCat("up to batch ", range.last)
                                                     : absl::StrCat("from batch ", range.first, " on");
  return Diagnostic{
      .code = Code::kRecordSizes,
      .severity = Severity::kWarning,
      .message = absl::StrCat("the record holds ", held, ", not at ", batch, ": the model takes another path there"),
      .details = {absl::StrCat("try: ... --batch ", batch > range.last ? range.last : range.first),
                  absl::StrCat("try: onnx_mem.export(model, args, path)   # in Python, with args of batch ", batch)}};
}

}  // namespace

void BindRecord(std::shared_ptr<const record::Record> record, int64_t batch, ImportedModel& model) {
  Graph& graph = model.graph;
  if (std::optional<Diagnostic> beyond = BeyondBatches(*record, batch)) {
    beyond->details.push_back("why: the graph is what is analyzed");
    model.diagnostics.push_back(*std::move(beyond));
    return;
  }
  auto bound = std::make_shared<BoundRecord>(BoundRecord{.record = std::move(record), .place = {.batch = batch}});
  Run run;
  run.training = bound->record->train.has_value();
  absl::StatusOr<Lowered> lowered = LowerRecord(*bound, run);
  if (lowered.ok() && HasInputsOf(*lowered, graph)) {
    graph.record = std::move(bound);
    model.info.from_record = true;
    return;
  }
  Diagnostic other{.code = Code::kRecordSizes, .severity = Severity::kWarning};
  other.message = "the file's record of the running model is of inputs of other sizes: the graph is what is analyzed";
  other.details = {"why: a record follows the batch, and no other size but one that free= names",
                   FreeSizeRecipe("seq")};
  if (!lowered.ok()) other.details[0] = absl::StrCat("why: ", DiagnosticOf(lowered.status()).message);
  model.diagnostics.push_back(std::move(other));
}

namespace {

absl::Status OtherSize(const std::string& path, const record::Record& record, const Bindings& bindings) {
  const std::string free = record.free ? absl::StrCat(" and ", record.free->name) : "";
  std::string other;  // the first dimension that the record does not follow
  for (const auto& [name, size] : bindings.dims) {
    if (!record.free || name != record.free->name) other = name;
  }
  const bool dim = !other.empty();
  const std::string option =
      dim ? absl::StrCat("--dim ", other) : absl::StrCat("--input ", bindings.inputs.begin()->first);
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, dim ? Code::kUnknownDim : Code::kUnknownInput,
      absl::StrCat("'", path, "' is a record, whose sizes but the batch", free,
                   " are those that it was made with: ", option),
      {record.free ? absl::StrCat("it follows: --batch N, --dim ", record.free->name, "=N") : "it follows: --batch N",
       dim && !record.free ? FreeSizeRecipe(other) : "in Python: record it with inputs of this size"});
}

// The record's free size: what is requested, else that of the example inputs.
absl::StatusOr<int64_t> LengthOf(const record::FreeSize& free, const Bindings& bindings) {
  const auto requested = bindings.dims.find(free.name);
  const int64_t length = requested == bindings.dims.end() ? free.length : requested->second;
  if (length > record::kMostLength) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kRecordSizes,
                       absl::StrCat("--dim ", free.name, "=", length, " is longer than any input"));
  }
  if (length > 0 && (length - free.length) % free.step == 0) return length;
  const int64_t above = length < 1 ? free.length : length + (free.length - length % free.step + free.step) % free.step;
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kRecordSizes,
                     absl::StrCat("the record holds at ", free.name, " = ", free.length, " + k * ", free.step,
                                  ", not at ", length, ": the model takes another path between"),
                     {absl::StrCat("try: ... --dim ", free.name, "=", above, "   # or a record made at ", length)});
}

}  // namespace

const record::FreeSize* FreeSizeOf(const Graph& graph) {
  return graph.record == nullptr || !graph.record->record->free ? nullptr : &*graph.record->record->free;
}

std::optional<Diagnostic> FarFromWatched(const Graph& graph) {
  const record::FreeSize* const free = FreeSizeOf(graph);
  const int64_t length = free == nullptr ? 0 : graph.record->place.length;
  if (free == nullptr || (free->first <= length && length <= free->last)) return std::nullopt;
  return Diagnostic{
      .code = Code::kRecordSizes,
      .severity = Severity::kNote,
      .message = absl::StrCat("the model was watched at ", free->name, " = ", free->first, " to ", free->last, "; at ",
                              length, " its sizes are taken to go on as they do there"),
      .details = {"why: code may branch on a length, at a window or at the longest position",
                  absl::StrCat("way out: a record made at ", free->name, " = ", length)}};
}

absl::StatusOr<Graph> GraphOfRecord(std::shared_ptr<const record::Record> record, const Bindings& bindings,
                                    const std::string& path) {
  const bool free_alone = record->free && bindings.dims.size() == 1 && bindings.dims.contains(record->free->name);
  if ((!bindings.dims.empty() && !free_alone) || !bindings.inputs.empty()) return OtherSize(path, *record, bindings);
  record::Place place{.batch = bindings.batch.value_or(1)};
  if (record->free) {
    ASSIGN_OR_RETURN(place.length, LengthOf(*record->free, bindings));
  }
  if (const std::optional<Diagnostic> beyond = BeyondBatches(*record, place.batch)) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, beyond->code, beyond->message, beyond->details);
  }
  auto bound = std::make_shared<BoundRecord>(BoundRecord{.record = std::move(record), .place = place});
  Graph graph;
  if (bound->record->later_call) {
    graph.record = std::move(bound);
    return graph;
  }
  Run run;
  run.training = bound->record->train.has_value();
  ASSIGN_OR_RETURN(Lowered lowered, LowerRecord(*bound, run));
  std::map<TensorId, TensorId> copies;
  const auto copy = [&](TensorId id) {
    const auto [at, is_new] = copies.emplace(id, TensorId());
    if (is_new) at->second = graph.tensors.Add(Unlinked(lowered.graph.tensors[id]));
    return at->second;
  };
  for (TensorId id : lowered.graph.inputs) graph.inputs.push_back(copy(id));
  for (TensorId id : lowered.graph.initializers) graph.initializers.push_back(copy(id));
  for (TensorId id : lowered.graph.outputs) graph.outputs.push_back(copy(id));
  graph.record = std::move(bound);
  return graph;
}

}  // namespace onnx_mem
