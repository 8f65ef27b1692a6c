#include "analyzer/lower/operators/site.h"

#include "absl/strings/str_cat.h"
#include "analyzer/exported/source_trace.h"
#include "analyzer/lower/facts/parameters.h"

namespace onnx_mem {
namespace {

bool IsStored(const Tensor& tensor) {
  return tensor.role == TensorRole::kInitializer || tensor.role == TensorRole::kConstant;
}

// Operators that hand a stored weight on in another form without being a step of the framework's program.
bool PassesWeight(const Node& node) {
  return node.op == "Identity" || node.op == "Transpose" || node.op == "Reshape" || node.op == "Cast" ||
         node.op == "Unsqueeze" || node.op == "Squeeze";
}

}  // namespace

Site::Site(Lowering& lowering, NodeId id, const TableRow* row, const CallScope& scope)
    : lowering_(lowering), id_(id), node_(lowering.source.nodes[id]), row_(row), scope_(scope) {}

TensorId Site::In(size_t i) const {
  if (!Has(i) || lowering_.residence.number[node_.inputs[i]]) return TensorId();
  return lowering_.draft.Resolve(node_.inputs[i]);
}

TensorId Site::Materialized(size_t i) {
  const TensorId tensor = In(i);
  if (tensor.valid() || !Has(i)) return tensor;
  return EmitTemp("full", {}, InShape(i).dims, InType(i));
}

TensorIds Site::DeviceTensors() const {
  TensorIds tensors;
  for (size_t i = 0; i < num_inputs(); ++i) {
    if (const TensorId id = In(i); id.valid()) tensors.push_back(id);
  }
  return tensors;
}

TensorIds Site::Tensors() {
  TensorIds tensors;
  for (size_t i = 0; i < num_inputs(); ++i) tensors.push_back(Materialized(i));
  while (!tensors.empty() && !tensors.back().valid()) tensors.pop_back();
  return tensors;
}

TensorId Site::Stored(size_t i, bool* transposed) const {
  if (transposed != nullptr) *transposed = false;
  if (!Has(i)) return TensorId();
  TensorId id = node_.inputs[i];
  for (int depth = 0; depth < 8; ++depth) {
    if (IsStored(source().tensors[id]))
      return lowering_.residence.number[id] ? TensorId() : lowering_.draft.Resolve(id);
    const Node* maker = source().MakerOf(id);
    if (maker == nullptr || !PassesWeight(*maker) || maker->inputs.empty() || !maker->inputs[0].valid()) break;
    if (maker->op == "Transpose" && transposed != nullptr) *transposed = !*transposed;
    id = maker->inputs[0];
  }
  return TensorId();
}

const Shape& Site::InShape(size_t i) const {
  static const Shape kNone;
  return Has(i) ? lowering_.draft.tensor(node_.inputs[i]).shape : kNone;
}

DType Site::InType(size_t i) const { return Has(i) ? lowering_.draft.tensor(node_.inputs[i]).dtype : DType::kUnknown; }

std::optional<std::vector<double>> Site::Floats(size_t i) const {
  if (!Has(i)) return std::nullopt;
  const LiteralPtr& value = source().tensors[node_.inputs[i]].value;
  if (value == nullptr) return std::nullopt;
  if (const auto* floats = value->floats()) return *floats;
  if (const auto* ints = value->ints()) return std::vector<double>(ints->begin(), ints->end());
  return std::nullopt;
}

std::optional<double> Site::Number(size_t i) const {
  if (!Has(i) || !lowering_.residence.number[node_.inputs[i]]) return std::nullopt;
  const auto values = Floats(i);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

std::optional<std::vector<int64_t>> Site::Ints(size_t i) const {
  if (!Has(i)) return std::nullopt;
  const LiteralPtr& value = source().tensors[node_.inputs[i]].value;
  if (value == nullptr || value->ints() == nullptr) return std::nullopt;
  return *value->ints();
}

const Shape& Site::OutShape(size_t i) const {
  static const Shape kNone;
  return Out(i).valid() ? lowering_.draft.tensor(Out(i)).shape : kNone;
}

DType Site::OutType(size_t i) const { return Out(i).valid() ? lowering_.draft.tensor(Out(i)).dtype : DType::kUnknown; }

std::optional<std::vector<int64_t>> Site::Axes(size_t slot, size_t rank) const {
  std::optional<std::vector<int64_t>> axes;
  if (node_.attributes.contains("axes")) axes = IntList("axes");
  if (Has(slot)) axes = Ints(slot);
  if (!axes) return std::nullopt;
  for (int64_t& axis : *axes) axis = Normalize(axis, rank);
  return axes;
}

NodeId Site::Emit(std::string_view op, TensorIds inputs, TensorIds outputs, Attributes attributes) {
  for (TensorId input : inputs) {
    if (!input.valid() || draft().kind(input) != TensorKind::kHost || draft().producer(input).valid()) continue;
    if (IsStored(draft().tensor(input))) draft().SetKind(input, KindOfStored(source(), input));
  }
  FrameworkNode node;
  node.name = node_.name;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  node.scope() = scope_;
  KeepSourceTrace(node_, node);
  return draft().Add(std::move(node), Rank{id_.value(), place_++});
}

TensorId Site::Temp(const Dims& dims, DType dtype) {
  std::string base;
  for (TensorId output : node_.outputs) {
    if (!output.valid()) continue;
    base = draft().tensor(output).name;
    break;
  }
  return draft().NewTensor(absl::StrCat(base, "/", place_), dtype, dims);
}

TensorId Site::EmitTemp(std::string_view op, TensorIds inputs, const Dims& dims, DType dtype, Attributes attributes) {
  const TensorId result = Temp(dims, dtype);
  Emit(op, std::move(inputs), {result}, std::move(attributes));
  return result;
}

void Site::Assume() {
  TensorIds inputs;
  for (size_t i = 0; i < num_inputs(); ++i) {
    const bool device = row_ == nullptr || row_->slots.kind(i) == SlotKind::kDevice;
    if (const TensorId input = device ? In(i) : TensorId(); input.valid()) inputs.push_back(input);
  }
  for (TensorId capture : node_.captures) {
    if (!lowering_.residence.number[capture]) inputs.push_back(draft().Resolve(capture));
  }
  Emit("assumed", std::move(inputs), node_.outputs, {{"onnx_op", node_.op.str()}});
  ++lowering_.assumed[node_.domain.empty() ? node_.op.str() : absl::StrCat(node_.domain, ".", node_.op.str())];
}

}  // namespace onnx_mem
