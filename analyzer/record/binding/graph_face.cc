#include "analyzer/record/binding/graph_face.h"

#include <algorithm>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/record/binding/program_face.h"

namespace onnx_mem::record {
namespace {

constexpr int64_t kSmallConstant = 64;  // elements of integers that an exporter may have stored: axes, shapes
constexpr char kTarget[] = "targets.";  // inputs of a loss beside the model (python/onnx_mem/exporting.py)

absl::Status Mismatch(std::string_view what) {
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kRecordMismatch,
      absl::StrCat("the file's record of the running model is of another model than its graph: ", std::string(what)),
      {"why: a record stands for a graph that names the same inputs, parameters and outputs",
       "try: onnx_mem.export(model, args, path)   # in Python, again"});
}

// "float32 [B,3,?,?]".
std::string TypeText(DType dtype, const std::vector<std::string>& dims) {
  return absl::StrCat(std::string(NameOf(dtype)), " [", absl::StrJoin(dims, ","), "]");
}

std::string TextOf(const FaceTensor& tensor) {
  std::vector<std::string> dims;
  for (int64_t d : tensor.dims.value_or(std::vector<int64_t>()))
    dims.push_back(d == kBatchSize ? "batch" : d == kAnySize ? "?" : absl::StrCat(d));
  return TypeText(tensor.dtype, dims);
}

std::string TextOf(const ValueType& type) {
  std::vector<std::string> dims;
  for (const Size& size : type.dims) dims.push_back(ToText(size));
  return TypeText(type.dtype, dims);
}

constexpr Size kBatch = {.per_sample = {Rational{1, 1}}};

bool IsNumber(const Size& size) { return size.fixed[0].denominator == 1 && size == Size::Of(size.fixed[0].numerator); }

using ByName = absl::flat_hash_map<std::string, const FaceTensor*>;

ByName NamesOf(const std::vector<FaceTensor>& tensors, bool plain) {
  ByName names;
  for (const FaceTensor& tensor : tensors) names[plain ? PlainName(tensor.name) : tensor.name] = &tensor;
  return names;
}

// One program of the record, held against the graph.
class Beside {
 public:
  Beside(const Record& record, const Program& program, const Variant* variant, const GraphFace& graph)
      : record_(record),
        program_(program),
        variant_(variant),
        graph_(graph),
        inputs_(NamesOf(graph.inputs, true)),
        stored_(NamesOf(graph.stored, false)),
        mine_(FaceOf(program)) {
    place_.length = record.free ? record.free->length : 0;
    place_.batch = alone() ? variant->batch : BatchOfGraph();
  }

  absl::Status Names() const {
    RETURN_IF_ERROR(InputsOfRecord());
    RETURN_IF_ERROR(InputsOfGraph());
    RETURN_IF_ERROR(StoredOfGraph());
    return StoredOfRecord();
  }

  absl::Status Outputs() const {
    std::vector<const Value*> returned;
    bool opaque = false;  // a result that is no tensor: an exporter may take it apart
    for (const std::optional<ValueNumber>& number : program_.returned) {
      if (!number) {
        opaque = true;
      } else if (*number != program_.loss || program_.returned.size() <= graph_.outputs.size()) {
        returned.push_back(&program_.values[static_cast<size_t>(*number)]);
      }
    }
    const bool fewer = opaque && returned.size() < graph_.outputs.size();
    if (returned.size() != graph_.outputs.size() && !fewer) {
      return Mismatch(
          absl::StrCat("the record returns ", returned.size(), " tensors, the graph ", graph_.outputs.size()));
    }
    size_t next = 0;
    for (const FaceTensor& output : graph_.outputs) {
      if (next == returned.size()) break;
      const absl::Status same = Compare(*returned[next], output, "output");
      if (!same.ok() && !fewer) return same;
      if (same.ok()) ++next;
    }
    return next == returned.size() ? absl::OkStatus() : Mismatch("the record returns other tensors than the graph");
  }

  absl::Status Reads() const {
    if (graph_.computes && !mine_.has_operators) return Mismatch("the record has no operator");
    for (const FaceTensor& tensor : graph_.inputs) {
      if (tensor.read && !mine_.named.contains(tensor.name) && !mine_.read.contains(PlainName(tensor.name))) {
        return Mismatch(absl::StrCat("no operator of the record reads the input '", tensor.name, "'"));
      }
    }
    for (const FaceTensor& tensor : graph_.stored) {
      const auto found = mine_.named.find(tensor.name);
      if (found == mine_.named.end() || found->second->kind != Value::Kind::kParameter) continue;
      if (tensor.read && !mine_.read.contains(found->second->name)) {
        return Mismatch(absl::StrCat("no operator of the record reads '", tensor.name, "'"));
      }
      if (tensor.convolved && !mine_.convolved.contains(found->second->name)) {
        return Mismatch(absl::StrCat("no convolution of the record reads '", tensor.name, "'"));
      }
    }
    return absl::OkStatus();
  }

 private:
  bool alone() const { return variant_ != nullptr && variant_->batch != 0; }
  // module.half() changes what floats; autocast does not.
  bool converted() const {
    return variant_ != nullptr && (variant_->precision == "bf16" || variant_->precision == "fp16");
  }

  // The batch of a graph whose sizes are fixed: what makes the first size that follows the batch that of the graph.
  int64_t BatchOfGraph() const {
    for (const Value* v : mine_.inputs) {
      const auto found = inputs_.find(PlainName(v->name));
      if (found == inputs_.end() || !found->second->dims) continue;
      const std::vector<int64_t>& dims = *found->second->dims;
      for (size_t i = 0; i < std::min(dims.size(), v->type.dims.size()); ++i) {
        if (dims[i] >= 0 && At(v->type.dims[i], {dims[i], place_.length}) == dims[i] && !IsNumber(v->type.dims[i])) {
          return dims[i];
        }
      }
    }
    return 2;
  }

  absl::Status Compare(const Value& v, const FaceTensor& tensor, std::string_view what) const {
    if (Agrees(v, tensor)) return absl::OkStatus();
    return Mismatch(absl::StrCat("the ", std::string(what), " '", tensor.name, "' is ", TextOf(v.type),
                                 " in the record, ", TextOf(tensor), " in the graph"));
  }

  bool Agrees(const Value& v, const FaceTensor& tensor) const {
    const bool halved = converted() && IsHalf(v.type.dtype) && IsFloating(tensor.dtype);
    if (tensor.dtype != DType::kUnknown && v.type.dtype != tensor.dtype && !halved) return false;
    if (!tensor.dims) return true;
    if (tensor.dims->size() != v.type.dims.size()) return false;
    for (size_t i = 0; i < tensor.dims->size(); ++i) {
      const int64_t wanted = (*tensor.dims)[i];
      const std::optional<int64_t> size = At(v.type.dims[i], place_);
      if (wanted == kBatchSize && (v.type.dims[i] == kBatch || alone())) continue;
      // With a free size no graph is bound beside the record: a size that the graph leaves open follows something.
      const bool open = wanted == kAnySize && !(record_.free && !alone() && IsNumber(v.type.dims[i]));
      if (!open && size != wanted && !(alone() && size == variant_->batch)) return false;
    }
    return true;
  }

  absl::Status InputsOfRecord() const {
    for (const Value* v : mine_.inputs) {
      RETURN_IF_ERROR(InputOfRecord(*v, v->name));
      for (const std::string& other : v->tied) RETURN_IF_ERROR(InputOfRecord(*v, other));
    }
    return absl::OkStatus();
  }

  absl::Status InputOfRecord(const Value& v, const std::string& name) const {
    const auto found = inputs_.find(PlainName(name));
    if (found != inputs_.end()) return Compare(v, *found->second, "input");
    if (program_.loss >= 0 && absl::StartsWith(name, kTarget)) return absl::OkStatus();
    return Mismatch(absl::StrCat("the graph has no input '", name, "'"));
  }

  absl::Status InputsOfGraph() const {
    absl::flat_hash_set<std::string> names;
    for (const Value* v : mine_.inputs) {
      names.insert(PlainName(v->name));
      for (const std::string& other : v->tied) names.insert(PlainName(other));
    }
    for (const FaceTensor& tensor : graph_.inputs) {  // an exporter may have made weights inputs
      if (names.contains(PlainName(tensor.name)) || mine_.named.contains(tensor.name)) continue;
      return Mismatch(absl::StrCat("the record has no input '", tensor.name, "'"));
    }
    return absl::OkStatus();
  }

  static bool IsSmall(const FaceTensor& tensor) {
    int64_t count = 1;
    for (int64_t d : *tensor.dims)
      count = d > kSmallConstant ? kSmallConstant + 1 : std::min(count * d, kSmallConstant + 1);
    return tensor.dims->empty() || (!IsFloating(tensor.dtype) && count <= kSmallConstant);
  }

  // What an exporter lifted, and tables that a module keeps beside its buffers, have a name in the graph alone.
  absl::Status StoredOfGraph() const {
    absl::flat_hash_set<std::string> tables;
    for (const Value* v : mine_.constants) tables.insert(TextOf(v->type));
    for (const FaceTensor& tensor : graph_.stored) {
      const auto found = mine_.named.find(tensor.name);
      if (found != mine_.named.end()) {
        if (mine_.replaced.contains(found->second)) continue;
        RETURN_IF_ERROR(Compare(*found->second, tensor, "parameter"));
      } else if (!IsSmall(tensor) && !tables.contains(TextOf(tensor))) {
        return Mismatch(absl::StrCat("the record has no parameter '", tensor.name, "'"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status StoredOfRecord() const {
    const auto there = [&](const std::string& name) {
      return stored_.contains(name) || inputs_.contains(PlainName(name));
    };
    for (const Value* v : mine_.stored) {
      const bool counter = v->kind == Value::Kind::kBuffer && v->type.dims.empty();
      if (counter || mine_.replaced.contains(v) || there(v->name) || std::any_of(v->tied.begin(), v->tied.end(), there))
        continue;
      return Mismatch(absl::StrCat("the graph stores no '", v->name, "'"));
    }
    if (mine_.unread_constants.empty()) return absl::OkStatus();
    return Mismatch("the record keeps a table that no operator reads");
  }

  const Record& record_;
  const Program& program_;
  const Variant* variant_;
  const GraphFace& graph_;
  ByName inputs_, stored_;  // of the graph
  ProgramFace mine_;
  Place place_;
};

// Exporters write the graph of evaluation, or that of the mode in which the model was.
absl::Status ComputesAs(const Record& record, const Program& program, const GraphFace& graph) {
  const Beside beside(record, program, nullptr, graph);
  RETURN_IF_ERROR(beside.Outputs());
  return beside.Reads();
}

// A training step may leave out a head that evaluation alone has, not most of the model.
absl::Status TrainsMost(const ProgramFace& eval, const ProgramFace& train) {
  double both = 0, left_out = 0;
  for (const Value* v : eval.stored) {
    if (v->kind != Value::Kind::kParameter || !eval.read.contains(v->name)) continue;
    double elements = 1;
    for (const Size& size : v->type.dims) elements *= static_cast<double>(At(size, {}).value_or(0));
    (train.read.contains(v->name) ? both : left_out) += elements;
  }
  if (left_out <= both) return absl::OkStatus();
  return Mismatch("its training step reads less than half of the parameters that evaluation reads");
}

}  // namespace

bool CanCheck(const Record& record, const GraphFace& graph) {
  const ProgramFace mine = FaceOf(record.eval ? *record.eval : *record.train);
  const bool parameters = std::any_of(mine.stored.begin(), mine.stored.end(),
                                      [](const Value* v) { return v->kind == Value::Kind::kParameter; });
  return (mine.inputs.empty() || !graph.inputs.empty()) && (!parameters || !graph.stored.empty() || graph.computes);
}

absl::Status CheckFace(const Record& record, const GraphFace& graph) {
  const auto names = [&](const std::optional<Program>& program, const Variant* variant) {
    return program ? Beside(record, *program, variant, graph).Names() : absl::OkStatus();
  };
  RETURN_IF_ERROR(names(record.eval, nullptr));
  RETURN_IF_ERROR(names(record.train, nullptr));
  for (const Variant& variant : record.variants) {
    RETURN_IF_ERROR(names(variant.eval, &variant));
    RETURN_IF_ERROR(names(variant.train, &variant));
  }
  const absl::Status of_eval = record.eval ? ComputesAs(record, *record.eval, graph) : absl::OkStatus();
  if (!of_eval.ok() && (!record.train || !ComputesAs(record, *record.train, graph).ok())) return of_eval;
  if (!record.eval) return ComputesAs(record, *record.train, graph);
  if (!record.train) return absl::OkStatus();
  return TrainsMost(FaceOf(*record.eval), FaceOf(*record.train));
}

}  // namespace onnx_mem::record
