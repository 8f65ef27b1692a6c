#include "analyzer/record/lower/value_tensors.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem::record {
namespace {

absl::Status NotWhole(const Size& size, const Place& place) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadRecord,
                     absl::StrCat("the record has a size of ", ToText(size), ", which is none at batch ", place.batch,
                                  place.length > 0 ? absl::StrCat(" and S = ", place.length) : ""),
                     {"way out: another --batch, or a record made at this one"});
}

bool IsRowMajor(const Dims& dims, const Dims& strides) {
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != step) return false;
    step *= std::max<int64_t>(dims[i], 1);
  }
  return true;
}

absl::StatusOr<Dims> DimsAt(const std::vector<Size>& sizes, const Place& place) {
  Dims dims;
  for (const Size& size : sizes) {
    const std::optional<int64_t> dim = At(size, place);
    if (!dim || *dim < 0) return NotWhole(size, place);
    dims.push_back(*dim);
  }
  return dims;
}

// A stored tensor lies within what any memory has.
absl::Status CheckSpan(const Dims& dims, const Dims& strides) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  int64_t elements = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return absl::OkStatus();
    const std::optional<int64_t> more = CheckedMul(dims[i] - 1, strides[i]);
    if (more && *more <= kMostElements - elements) {
      elements += *more;
    } else {
      return ErrorStatus(
          absl::StatusCode::kInvalidArgument, Code::kBadRecord,
          absl::StrCat("the record has a tensor of strides ", ToString(Shape(strides)), ", which no memory holds"));
    }
  }
  return absl::OkStatus();
}

TensorKind KindOf(const Value& value) {
  if (!value.type.device.empty()) return TensorKind::kHost;
  switch (value.kind) {
    case Value::Kind::kParameter: return TensorKind::kParameter;
    case Value::Kind::kBuffer:
    case Value::Kind::kConstant: return TensorKind::kBuffer;
    case Value::Kind::kInput: return TensorKind::kInput;
    case Value::Kind::kMade:
    case Value::Kind::kGradient: break;
  }
  return TensorKind::kActivation;
}

TensorRole RoleOf(TensorKind kind) {
  if (kind == TensorKind::kInput) return TensorRole::kInput;
  return kind == TensorKind::kActivation || kind == TensorKind::kHost ? TensorRole::kActivation
                                                                      : TensorRole::kInitializer;
}

}  // namespace

bool IsOnHost(const Value& value) { return KindOf(value) == TensorKind::kHost; }

ValueTensors::ValueTensors(const Program& program, const Place& place, const Run& run, Lowered& out)
    : program_(program), place_(place), run_(run), out_(out), tensor_of_(program.values.size()) {
  for (const std::optional<ValueNumber>& value : program.returned) {
    if (value) held_.insert(*value);
  }
  if (program.loss >= 0) held_.insert(program.loss);
}

absl::StatusOr<Dims> ValueTensors::StridesOf(const ValueType& type) const {
  if (!type.strides) return Dims();
  ASSIGN_OR_RETURN(const Dims dims, DimsAt(type.dims, place_));
  ASSIGN_OR_RETURN(Dims strides, DimsAt(*type.strides, place_));
  return IsRowMajor(dims, strides) ? Dims() : strides;
}

absl::StatusOr<TensorId> ValueTensors::Add(ValueNumber number, std::string name, TensorKind kind) {
  const ValueType& type = value(number).type;
  ASSIGN_OR_RETURN(Dims dims, DimsAt(type.dims, place_));
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = run_.dtype && type.dtype == DType::kFloat32 ? *run_.dtype : type.dtype;
  tensor.shape = Shape(std::move(dims));
  tensor.role = RoleOf(kind);
  out_.kinds.Add(kind);
  releases_.push_back(-1);
  return out_.graph.tensors.Add(std::move(tensor));
}

absl::StatusOr<TensorId> ValueTensors::Make(ValueNumber number) {
  return Add(number, absl::StrCat("%", number), TensorKind::kActivation);
}

absl::StatusOr<TensorId> ValueTensors::MakeAgain(ValueNumber number) {
  const std::string& name = value(number).name;
  const int version = ++versions_[number] + 1;
  return Add(number, absl::StrCat(name.empty() ? absl::StrCat("%", number) : name, ".", version),
             TensorKind::kActivation);
}

absl::Status ValueTensors::Declare() {
  for (size_t i = 0; i < program_.values.size(); ++i) {
    const Value& v = program_.values[i];
    const TensorKind kind = KindOf(v);
    if (!v.defined || kind == TensorKind::kActivation || kind == TensorKind::kHost) continue;
    const auto number = static_cast<ValueNumber>(i);
    std::string name = v.name.empty() ? absl::StrCat("constant %", i) : v.name;
    ASSIGN_OR_RETURN(const TensorId id, Add(number, std::move(name), kind));
    RETURN_IF_ERROR(DeclareLayout(v.type, id));
    (*this)[number] = id;
    (kind == TensorKind::kInput ? out_.graph.inputs : out_.graph.initializers).push_back(id);
    if (v.frozen) out_.frozen.insert(id);
    if (!v.tied.empty()) out_.other_names[id] = v.tied;
  }
  return absl::OkStatus();
}

absl::Status ValueTensors::DeclareLayout(const ValueType& type, TensorId id) {
  ASSIGN_OR_RETURN(Dims strides, StridesOf(type));
  if (!strides.empty()) {
    RETURN_IF_ERROR(CheckSpan(out_.graph.tensors[id].shape.dims, strides));
    out_.strides[id] = std::move(strides);
  }
  if (type.root >= 0 && (*this)[type.root].valid()) out_.windows[id] = (*this)[type.root];
  return absl::OkStatus();
}

void ValueTensors::Finish() {
  FrameworkGraph& graph = out_.graph;
  const auto count = static_cast<int32_t>(graph.nodes.size());
  LinkTensors(graph);
  for (const std::optional<ValueNumber>& number : program_.returned) {
    if (number && (*this)[*number].valid()) graph.outputs.push_back((*this)[*number]);
  }
  if (program_.loss >= 0) out_.loss = (*this)[program_.loss];
  for (TensorId id(0); graph.tensors.contains(id); id = TensorId(id.value() + 1)) {
    if (graph.tensors[id].producer.valid() && release(id) < 0) release(id) = count;
  }
  for (TensorId id : graph.outputs) release(id) = count;
  if (out_.loss.valid()) release(out_.loss) = count;
  for (int32_t release : releases_) out_.releases.Add(release);
}

}  // namespace onnx_mem::record
