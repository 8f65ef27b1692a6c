#include "solver/problem/instance.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/whole_file.h"
#include "nlohmann/json.hpp"

namespace onnx_mem {
namespace {

using Json = nlohmann::json;

absl::Status BadValue(const std::string& path, const std::string& expected) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadInstance,
                     absl::StrCat(path, ": expected ", expected));
}

// A JSON value and where it stands, for error texts: "ops[3].in[0]".
class PlacedJson {
 public:
  PlacedJson(const Json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  absl::StatusOr<PlacedJson> Member(const char* key) const {
    const std::string path = path_.empty() ? key : absl::StrCat(path_, ".", key);
    if (!json_->is_object()) return BadValue(path_.empty() ? "top level" : path_, "an object");
    const auto it = json_->find(key);
    if (it == json_->end()) return BadValue(path, "a value, but there is none");
    return PlacedJson(*it, path);
  }
  std::optional<PlacedJson> OptionalMember(const char* key) const {
    if (!json_->is_object() || !json_->contains(key)) return std::nullopt;
    return *Member(key);
  }
  absl::StatusOr<std::vector<PlacedJson>> Elements() const {
    if (!json_->is_array()) return BadValue(path_, "a list");
    std::vector<PlacedJson> elements;
    for (size_t i = 0; i < json_->size(); ++i) elements.emplace_back((*json_)[i], absl::StrCat(path_, "[", i, "]"));
    return elements;
  }
  absl::StatusOr<int64_t> NonNegative() const {
    const bool fits = json_->is_number_unsigned() && json_->get<uint64_t>() <= uint64_t{INT64_MAX};
    if (!fits) return BadValue(path_, "a whole number from 0 to 2^63 - 1");
    return json_->get<int64_t>();
  }
  absl::StatusOr<std::string> Text() const {
    if (!json_->is_string()) return BadValue(path_, "a string");
    return json_->get<std::string>();
  }
  const std::string& path() const { return path_; }

 private:
  const Json* json_;
  std::string path_;
};

absl::StatusOr<int64_t> IntegerMember(const PlacedJson& value, const char* key) {
  ASSIGN_OR_RETURN(const PlacedJson member, value.Member(key));
  return member.NonNegative();
}

absl::StatusOr<std::string> TextMember(const PlacedJson& value, const char* key) {
  ASSIGN_OR_RETURN(const PlacedJson member, value.Member(key));
  return member.Text();
}

absl::Status CheckId(const PlacedJson& value, size_t position) {
  ASSIGN_OR_RETURN(const int64_t id, IntegerMember(value, "id"));
  if (id == static_cast<int64_t>(position)) return absl::OkStatus();
  return BadValue(absl::StrCat(value.path(), ".id"), absl::StrCat(position, " (ids are positions)"));
}

absl::StatusOr<std::vector<StepTensorId>> IdsOf(const PlacedJson& value, size_t tensor_count) {
  ASSIGN_OR_RETURN(const std::vector<PlacedJson> elements, value.Elements());
  std::vector<StepTensorId> ids;
  for (const PlacedJson& element : elements) {
    ASSIGN_OR_RETURN(const int64_t id, element.NonNegative());
    if (id >= static_cast<int64_t>(tensor_count)) {
      return BadValue(element.path(), absl::StrCat("a tensor id below ", tensor_count));
    }
    ids.push_back(StepTensorId(static_cast<int32_t>(id)));
  }
  return ids;
}

absl::StatusOr<StepTensor> ParseTensor(const PlacedJson& value, size_t position) {
  RETURN_IF_ERROR(CheckId(value, position));
  StepTensor tensor;
  ASSIGN_OR_RETURN(tensor.name, TextMember(value, "name"));
  ASSIGN_OR_RETURN(tensor.size_bytes, IntegerMember(value, "size"));
  ASSIGN_OR_RETURN(const std::string kind, TextMember(value, "kind"));
  if (kind == "input") {
    tensor.kind = StepTensorKind::kInput;
  } else if (kind == "act") {
    tensor.kind = StepTensorKind::kActivation;
  } else if (kind == "grad") {
    tensor.kind = StepTensorKind::kGradient;
  } else if (kind == "pgrad") {
    tensor.kind = StepTensorKind::kParameterGradient;
  } else {
    return BadValue(absl::StrCat(value.path(), ".kind"), "input, act, grad or pgrad");
  }
  return tensor;
}

absl::StatusOr<StepOpKind> ParseOpKind(const PlacedJson& value) {
  ASSIGN_OR_RETURN(const std::string kind, TextMember(value, "kind"));
  if (kind == "fwd") return StepOpKind::kForward;
  if (kind == "bwd") return StepOpKind::kBackward;
  if (kind == "ordered") return StepOpKind::kOrdered;
  return BadValue(absl::StrCat(value.path(), ".kind"), "fwd, bwd or ordered");
}

absl::StatusOr<StepOp> ParseOp(const PlacedJson& value, size_t position, size_t tensor_count) {
  RETURN_IF_ERROR(CheckId(value, position));
  StepOp op;
  ASSIGN_OR_RETURN(op.name, TextMember(value, "name"));
  ASSIGN_OR_RETURN(op.kind, ParseOpKind(value));
  ASSIGN_OR_RETURN(op.cost, IntegerMember(value, "cost"));
  ASSIGN_OR_RETURN(op.work_bytes, IntegerMember(value, "work"));
  ASSIGN_OR_RETURN(const PlacedJson inputs, value.Member("in"));
  ASSIGN_OR_RETURN(const std::vector<PlacedJson> entries, inputs.Elements());
  for (const PlacedJson& entry : entries) {
    ASSIGN_OR_RETURN(std::vector<StepTensorId> alternatives, IdsOf(entry, tensor_count));
    op.inputs.push_back(std::move(alternatives));
  }
  ASSIGN_OR_RETURN(const PlacedJson outputs, value.Member("out"));
  ASSIGN_OR_RETURN(op.outputs, IdsOf(outputs, tensor_count));
  if (const std::optional<PlacedJson> group = value.OptionalMember("group")) {
    ASSIGN_OR_RETURN(op.group, group->Text());
  }
  return op;
}

absl::StatusOr<StepGraph> ParseGraph(const PlacedJson& top) {
  ASSIGN_OR_RETURN(const std::string format, TextMember(top, "format"));
  if (format != "om1") return BadValue("format", absl::StrCat("\"om1\", not \"", format, "\""));
  StepGraph graph;
  ASSIGN_OR_RETURN(graph.name, TextMember(top, "name"));
  ASSIGN_OR_RETURN(graph.base_bytes, IntegerMember(top, "base"));
  ASSIGN_OR_RETURN(const PlacedJson tensor_list, top.Member("tensors"));
  ASSIGN_OR_RETURN(const std::vector<PlacedJson> tensors, tensor_list.Elements());
  for (size_t i = 0; i < tensors.size(); ++i) {
    ASSIGN_OR_RETURN(StepTensor tensor, ParseTensor(tensors[i], i));
    graph.tensors.Add(std::move(tensor));
  }
  ASSIGN_OR_RETURN(const PlacedJson op_list, top.Member("ops"));
  ASSIGN_OR_RETURN(const std::vector<PlacedJson> ops, op_list.Elements());
  for (size_t i = 0; i < ops.size(); ++i) {
    ASSIGN_OR_RETURN(StepOp op, ParseOp(ops[i], i, tensors.size()));
    graph.ops.Add(std::move(op));
  }
  RETURN_IF_ERROR(VerifyStepGraph(graph));
  return graph;
}

}  // namespace

absl::StatusOr<StepGraph> ParseInstance(std::string_view json_text) {
  Json json;
  try {
    json = Json::parse(json_text);
  } catch (const Json::parse_error& error) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadJson,
                       absl::StrCat("not JSON: reading stopped at byte ", error.byte));
  } catch (const Json::exception&) {  // a number beyond any double
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadJson, "not JSON: a number in it is out of range");
  }
  return ParseGraph(PlacedJson(json, ""));
}

absl::StatusOr<StepGraph> ReadInstance(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  return ParseInstance(text);
}

}  // namespace onnx_mem
