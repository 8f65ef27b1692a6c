#include "analyzer/onnx/build/import_notes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/bytes.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/rebatch/rebatch.h"
#include "analyzer/run/limits.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

bool IsOnnx(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

std::string FullName(const Node& node) {
  return node.domain.empty() ? node.op.str() : absl::StrCat(node.domain, "::", node.op.str());
}

// A tensor, not a sequence or optional: those have no size of their own.
bool IsTensor(const Tensor& tensor) { return tensor.dtype != DType::kUnknown || tensor.shape.has_rank; }

void NoteCustomOps(const Graph& graph, std::vector<Diagnostic>& notes) {
  std::map<std::string, int64_t> counts;
  int64_t unknown = 0;
  for (const Node& node : graph.nodes) {
    if (!node.shapes_assumed) continue;
    ++counts[FullName(node)];
    unknown += std::any_of(node.outputs.begin(), node.outputs.end(),
                           [&](TensorId id) { return id.valid() && !graph.tensors[id].shape.known(); });
  }
  if (counts.empty()) return;
  int64_t total = 0;
  for (const auto& [op, count] : counts) total += count;
  Diagnostic note{.code = Code::kCustomOp, .severity = Severity::kWarning, .count = total};
  note.message = absl::StrCat("no shape rule for ", total, total == 1 ? " op: " : " ops: ",
                              absl::StrJoin(counts, ", ", [](std::string* out, const auto& entry) {
                                absl::StrAppend(out, entry.first, " (x", entry.second, ")");
                              }));
  note.details.push_back(unknown > 0 ? "why: their outputs are unknown, so the result is a LOWER bound"
                                     : "why: the shapes of their outputs are those that the file records");
  notes.push_back(std::move(note));
}

void NoteUnknownSizes(const Graph& graph, std::vector<Diagnostic>& notes) {
  Diagnostic note{.code = Code::kUnknownSize, .severity = Severity::kWarning, .count = 0};
  Diagnostic bound{.code = Code::kUpperBound, .severity = Severity::kNote, .count = 0};
  std::string first, first_bound;
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Node& node = graph.nodes[id];
    for (TensorId output : node.outputs) {
      if (!output.valid()) continue;
      const Tensor& tensor = graph.tensors[output];
      if (tensor.upper_bound && bound.count++ == 0) first_bound = Describe(graph, id);
      if (!node.shapes_assumed && IsTensor(tensor) && !tensor.shape.known() && note.count++ == 0)
        first = Describe(graph, id);
    }
  }
  if (note.count > 0) {
    note.message = absl::StrCat("the sizes of ", note.count, note.count == 1 ? " tensor depend" : " tensors depend",
                                " on data, first at ", first);
    note.details.push_back("why: they count as 0 bytes, so the result is a LOWER bound");
    notes.push_back(std::move(note));
  }
  if (bound.count > 0) {
    bound.message = absl::StrCat("the sizes of ", bound.count, bound.count == 1 ? " tensor depend" : " tensors depend",
                                 " on data and are taken as large as they can be, first at ", first_bound);
    notes.push_back(std::move(bound));
  }
}

// External tensors of integers that a node with an unknown output shape reads: their contents would have determined it.
void NoteMissingData(const onnx::GraphProto& proto, const Graph& graph, std::vector<Diagnostic>& notes) {
  absl::flat_hash_set<std::string_view> wanted;
  for (const Node& node : graph.nodes) {
    const bool unknown = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id.valid() && IsTensor(graph.tensors[id]) && !graph.tensors[id].shape.known();
    });
    if (!unknown || node.shapes_assumed) continue;
    for (TensorId input : node.inputs) {
      if (!input.valid()) continue;
      const Tensor& tensor = graph.tensors[input];
      if (tensor.role == TensorRole::kInitializer && !tensor.value && IsIntegral(tensor.dtype))
        wanted.insert(tensor.name);
    }
  }
  std::map<std::string, int64_t> files;
  for (const auto& tensor : proto.initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL || !wanted.contains(tensor.name())) continue;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") ++files[entry.value()];
    }
  }
  for (const auto& [file, count] : files) {
    notes.push_back({.code = Code::kNoData,
                     .severity = Severity::kWarning,
                     .count = count,
                     .message = absl::StrCat("contents in the external data file '", file, "' would determine shapes (",
                                             count, count == 1 ? " tensor)" : " tensors)"),
                     .details = {"why: external data is not read; sizes that depend on it are unknown"}});
  }
}

}  // namespace

void NoteOtherPrograms(const onnx::ModelProto& model, std::vector<Diagnostic>& notes) {
  if (model.training_info_size() > 0) {
    notes.push_back({.code = Code::kBadModel,
                     .severity = Severity::kWarning,
                     .count = model.training_info_size(),
                     .message = "the file holds a training step of its own (training_info), which is not read",
                     .details = {"why: what is counted is PyTorch's training step of the graph"}});
  }
  int64_t devices = 0;
  for (const auto& configuration : model.configuration()) {
    devices = std::max<int64_t>(devices, configuration.num_devices());
  }
  const auto& nodes = model.graph().node();
  const auto spread = std::count_if(nodes.begin(), nodes.end(),
                                    [](const onnx::NodeProto& node) { return node.device_configurations_size() > 0; });
  if (devices < 2 && spread == 0) return;
  notes.push_back({.code = Code::kBadModel,
                   .severity = Severity::kWarning,
                   .count = spread,
                   .message = absl::StrCat("the file spreads its tensors over ", std::max<int64_t>(devices, 2),
                                           " devices (device_configurations): they are counted whole, on one")});
}

absl::Status CheckElementCounts(const Graph& graph) {
  for (NodeId id(0); graph.nodes.contains(id); id = NodeId(id.value() + 1)) {
    const Node& node = graph.nodes[id];
    if (!IsOnnx(node, "Reshape") || node.inputs.empty() || node.outputs.empty()) continue;
    if (!node.inputs[0].valid() || !node.outputs[0].valid()) continue;
    const Tensor& from = graph.tensors[node.inputs[0]];
    const Tensor& to = graph.tensors[node.outputs[0]];
    if (!from.shape.known() || !to.shape.known() || from.upper_bound) continue;
    if (NumElements(from.shape) == NumElements(to.shape)) continue;
    return ErrorStatus(
        absl::StatusCode::kInvalidArgument, Code::kBadShape,
        absl::StrCat(Describe(graph, id), ": ", ToString(from.shape), " cannot be reshaped to ", ToString(to.shape)),
        {"why: the number of elements differs; a size given with --batch, --dim or --input may not match this model"});
  }
  return absl::OkStatus();
}

namespace {

absl::Status AddSizes(const Graph& graph, int64_t& total) {
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.shape.known()) continue;
    const std::optional<int64_t> bytes =
        NumBytes(tensor.shape, tensor.dtype == DType::kUnknown ? DType::kFloat32 : tensor.dtype);
    if (!bytes || *bytes > limits::kTensorBytes - total) {
      return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                         absl::StrCat("with tensor '", tensor.name, "' [", ToString(tensor.shape),
                                      "] the sizes of all tensors are beyond any memory"),
                         {"way out: a smaller --batch, --dim or --input"});
    }
    total += *bytes;
  }
  for (const Node& node : graph.nodes) {
    for (const auto& body : node.subgraphs) RETURN_IF_ERROR(AddSizes(*body, total));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSizes(const Graph& graph) {
  int64_t total = 0;
  return AddSizes(graph, total);
}

void NoteRebatched(const DimChange& first, const Rebatched& rebatched, std::vector<Diagnostic>& notes) {
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
  notes.push_back(std::move(note));
}

void AddImportNotes(const onnx::ModelProto& model, ImportedModel& imported) {
  NoteCustomOps(imported.graph, imported.diagnostics);
  NoteMissingData(model.graph(), imported.graph, imported.diagnostics);
  NoteUnknownSizes(imported.graph, imported.diagnostics);
}

}  // namespace onnx_mem
