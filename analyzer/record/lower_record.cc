#include "analyzer/record/lower_record.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/assumed_operators.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/record/aten_table.h"
#include "analyzer/run/work.h"

namespace onnx_mem {
namespace record {
namespace {

absl::Status NotWhole(const Size& size, const Place& place) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadRecord,
                     absl::StrCat("the record has a size of ", ToText(size), ", which is none at batch ", place.batch,
                                  place.length > 0 ? absl::StrCat(" and S = ", place.length) : ""),
                     {"try: another --batch, or a record made at this one"});
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

bool IsRowMajor(const Dims& dims, const Dims& strides) {
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != step) return false;
    step *= std::max<int64_t>(dims[i], 1);
  }
  return true;
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

class Lowering {
 public:
  Lowering(const Program& program, const Place& place, const Run& run)
      : program_(program), place_(place), run_(run), tensor_of_(program.values.size()) {
    for (const std::optional<ValueNumber>& value : program.returned) {
      if (value) kept_.insert(*value);
    }
    if (program.loss >= 0) kept_.insert(program.loss);
  }

  absl::StatusOr<Lowered> Run() {
    out_.recorded = true;
    RETURN_IF_ERROR(work::CheckLeft());
    work::Spend(work::kOfLowering * static_cast<int64_t>(program_.lines.size()));
    RETURN_IF_ERROR(Declare());
    for (const Line& line : program_.lines) RETURN_IF_ERROR(Lower(line));
    Finish();
    return std::move(out_);
  }

 private:
  Graph& graph() { return out_.graph; }
  const Value& value(ValueNumber number) const { return program_.values[static_cast<size_t>(number)]; }
  TensorId& tensor_of(ValueNumber number) { return tensor_of_[static_cast<size_t>(number)]; }

  TensorId AddTensor(std::string name, DType dtype, Dims dims, TensorKind kind) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = run_.dtype && dtype == DType::kFloat32 ? *run_.dtype : dtype;
    tensor.shape = Shape(std::move(dims));
    tensor.role = RoleOf(kind);
    out_.kinds.Add(kind);
    releases_.push_back(-1);
    return graph().tensors.Add(std::move(tensor));
  }

  absl::StatusOr<TensorId> AddValue(ValueNumber number, std::string name, TensorKind kind) {
    const ValueType& type = value(number).type;
    ASSIGN_OR_RETURN(Dims dims, DimsAt(type.dims, place_));
    return AddTensor(std::move(name), type.dtype, std::move(dims), kind);
  }

  // Strides of a value at this batch, empty where they are row-major.
  absl::StatusOr<Dims> StridesOf(const ValueType& type) const {
    if (!type.strides) return Dims();
    ASSIGN_OR_RETURN(const Dims dims, DimsAt(type.dims, place_));
    ASSIGN_OR_RETURN(Dims strides, DimsAt(*type.strides, place_));
    return IsRowMajor(dims, strides) ? Dims() : strides;
  }

  absl::Status Declare() {
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const Value& v = program_.values[i];
      const TensorKind kind = KindOf(v);
      if (!v.defined || kind == TensorKind::kActivation || kind == TensorKind::kHost) continue;
      const auto number = static_cast<ValueNumber>(i);
      std::string name = v.name.empty() ? absl::StrCat("constant %", i) : v.name;
      ASSIGN_OR_RETURN(const TensorId id, AddValue(number, std::move(name), kind));
      RETURN_IF_ERROR(DeclareLayout(v.type, id));
      tensor_of(number) = id;
      (kind == TensorKind::kInput ? graph().inputs : graph().initializers).push_back(id);
      if (v.frozen) out_.frozen.insert(id);
      if (!v.tied.empty()) out_.other_names[id] = v.tied;
    }
    return absl::OkStatus();
  }

  absl::Status DeclareLayout(const ValueType& type, TensorId id) {
    ASSIGN_OR_RETURN(Dims strides, StridesOf(type));
    if (!strides.empty()) {
      RETURN_IF_ERROR(CheckSpan(graph().tensors[id].shape.dims, strides));
      out_.strides[id] = std::move(strides);
    }
    if (type.root >= 0 && tensor_of(type.root).valid()) out_.windows[id] = tensor_of(type.root);
    return absl::OkStatus();
  }

  absl::Status Lower(const Line& line) {
    switch (line.kind) {
      case Line::Kind::kOp: return LowerOp(line);
      case Line::Kind::kCall: EnterCall(line.name); break;
      case Line::Kind::kReturn:
        if (!calls_.empty()) calls_.pop_back();
        if (!modules_.empty()) modules_.pop_back();
        break;
      case Line::Kind::kGrad: grad_ = line.flag; break;
      case Line::Kind::kLeaf: return LowerLeaf(line);
      case Line::Kind::kFunction: StartFunction(line); break;
      case Line::Kind::kEndFunction: EndFunction(line); break;
      case Line::Kind::kBackward: return StartBackward(line);
      case Line::Kind::kEndBackward: EndBackward(line); break;
      case Line::Kind::kCheckpoint: StartCheckpoint(line); break;
      case Line::Kind::kEndCheckpoint: EndCheckpoint(); break;
    }
    return absl::OkStatus();
  }

  int32_t next_node() const { return static_cast<int32_t>(out_.graph.nodes.size()); }

  void EnterCall(const std::string& path) {
    const int64_t count = ++calls_of_[path];
    calls_.push_back(count == 1 ? path : absl::StrCat(path, "_", count - 1));
    modules_.push_back(path);
  }

  Node NewNode(const Line& line, std::string_view op) {
    Node node;
    node.op = op;
    node.name = absl::StrCat(line.name.empty() ? "leaf" : line.name, ":", line.number);
    if (!modules_.empty()) node.module = modules_.back();
    node.calls = calls_;
    if (!grad_) node.attributes["requires_grad_none"] = int64_t{1};
    return node;
  }

  void Add(Node node) {
    if (backward_ == nullptr) {
      graph().nodes.Add(std::move(node));
    } else {
      backward_->backward.push_back(std::move(node));
      backward_->dropped.emplace_back();
    }
  }

  // The node that was added last is the last one that needs the name.
  void Drop(TensorId id, bool written_over = false) {
    if (!id.valid() || out_.kinds[id] != TensorKind::kActivation) return;
    if (backward_ != nullptr) {
      if (!backward_->dropped.empty()) backward_->dropped.back().push_back(id);
      return;
    }
    if (in_function_ && written_over && id < first_in_function_) {
      written_in_function_.push_back(id);
      return;
    }
    releases_[static_cast<size_t>(id.value())] = std::max(next_node() - 1, 0);
  }

  // What the step before left behind, and this one replaces.
  void LetTableGo(TensorId id) {
    if (!id.valid() || out_.kinds[id] != TensorKind::kBuffer || backward_ != nullptr) return;
    releases_[static_cast<size_t>(id.value())] = std::max(next_node() - 1, 0);
  }

  // The results of a line as outputs of `node`, invalid where they are on the host; whether one is written over.
  absl::StatusOr<bool> AddResults(const Line& line, Node& node, std::vector<ValueNumber>& written) {
    for (size_t i = 0; i < line.values.size(); ++i) {
      const ValueNumber number = line.values[i];
      TensorId id;
      if (!line.made[i]) {
        if (tensor_of(number).valid()) {
          ASSIGN_OR_RETURN(id, AddValue(number, absl::StrCat(NameOf(number), ".", ++versions_[number] + 1),
                                        TensorKind::kActivation));
          written.push_back(number);
        }
      } else if (KindOf(value(number)) != TensorKind::kHost) {
        ASSIGN_OR_RETURN(id, AddValue(number, absl::StrCat("%", number), TensorKind::kActivation));
      }
      node.outputs.push_back(id);
    }
    return !written.empty();
  }

  std::string NameOf(ValueNumber number) const {
    return value(number).name.empty() ? absl::StrCat("%", number) : value(number).name;
  }

  absl::Status LowerOp(const Line& line) {
    const AtenRow* row = FindAten(line.name);
    Node node = NewNode(line, row != nullptr ? row->op : "assumed");
    std::vector<ValueNumber> written;
    ASSIGN_OR_RETURN(const bool in_place, AddResults(line, node, written));
    const bool on_device =
        std::any_of(node.outputs.begin(), node.outputs.end(), [](TensorId id) { return id.valid(); });
    if (on_device) {
      if (row != nullptr) {
        RETURN_IF_ERROR(MapArguments(line, *row, node));
      } else {
        Assume(line, node);
      }
      if (in_place) node.attributes["inplace"] = int64_t{1};
      JoinLinear(node);
      const TensorIds outputs = node.outputs;
      const bool of_tensor = !node.inputs.empty() && node.inputs[0].valid();
      if (line.name == "t" && of_tensor && out_.kinds[node.inputs[0]] == TensorKind::kParameter) {
        transposes_[outputs.front()] = node.inputs[0];
      }
      Add(std::move(node));
      for (size_t i = 0; i < line.values.size(); ++i) {
        const ValueNumber number = line.values[i];
        if (!line.made[i] && outputs[i].valid()) {
          if (in_function_) before_function_.emplace(number, tensor_of(number));
          Drop(tensor_of(number), /*written_over=*/true);
        }
        SetTensor(number, outputs[i]);
      }
    }
    for (ValueNumber number : line.drops) {
      if (kept_.contains(number)) continue;
      Drop(tensor_of(number));
      if (value(number).kind == Value::Kind::kConstant) LetTableGo(tensor_of(number));
    }
    return absl::OkStatus();
  }

  void SetTensor(ValueNumber number, TensorId id) {
    if (backward_ != nullptr) before_backward_.emplace_back(number, tensor_of(number));
    tensor_of(number) = id;
  }

  absl::Status MapArguments(const Line& line, const AtenRow& row, Node& node) {
    std::vector<int64_t> strides;
    const auto first = std::find_if(node.outputs.begin(), node.outputs.end(), [](TensorId id) { return id.valid(); });
    if (first == node.outputs.begin()) {
      ASSIGN_OR_RETURN(const Dims of_result, StridesOf(value(line.values.front()).type));
      strides.assign(of_result.begin(), of_result.end());
    }
    const auto current = [this](ValueNumber number) { return tensor_of(number); };
    AtenCall call(line, graph(), run_, place_, current, node, std::move(strides));
    row.map(call);
    return absl::OkStatus();
  }

  void AddTensors(const Argument& argument, Node& node) {
    if (argument.kind == Argument::Kind::kValue && tensor_of(argument.value).valid()) {
      node.inputs.push_back(tensor_of(argument.value));
    }
    for (const Argument& item : argument.items) AddTensors(item, node);
  }

  void Assume(const Line& line, Node& node) {
    for (const Argument& argument : line.arguments) AddTensors(argument, node);
    for (const auto& [name, argument] : line.options) AddTensors(argument, node);
    ++assumed_[line.name];
  }

  // Under autocast the cast of a leaf weight is kept, that of its transpose is not: the two lines are one call.
  void JoinLinear(Node& node) {
    const bool product = node.op == "addmm" || (node.op == "matmul" && node.inputs.size() == 2);
    if (!run_.autocast || !product || backward_ != nullptr) return;
    if (!node.inputs[0].valid() || !node.inputs[1].valid()) return;
    const auto transposed = transposes_.find(node.inputs[1]);
    if (transposed == transposes_.end() || graph().tensors[node.inputs[0]].shape.rank() != 2) return;
    node.op = "linear";
    node.inputs[1] = transposed->second;
  }

  absl::Status LowerLeaf(const Line& line) {
    const ValueNumber number = line.values.front();
    const TensorId old = tensor_of(number);
    if (!old.valid()) return absl::OkStatus();
    Node node = NewNode(line, "leaf");
    ASSIGN_OR_RETURN(const TensorId id, AddValue(number, absl::StrCat(NameOf(number), ".", ++versions_[number] + 1),
                                                 TensorKind::kActivation));
    node.inputs = {old};
    node.outputs = {id};
    Add(std::move(node));
    Drop(old);
    tensor_of(number) = id;
    return absl::OkStatus();
  }

  void StartFunction(const Line& line) {
    function_ = UserFunction{.name = line.name, .span = {next_node(), -1}};
    before_function_.clear();
    in_function_ = true;
    first_in_function_ = graph().tensors.next_id();
  }

  void EndFunction(const Line& line) {
    function_.span.last = next_node() - 1;
    in_function_ = false;
    for (TensorId id : written_in_function_) Drop(id);
    written_in_function_.clear();
    for (ValueNumber number : line.values) function_.saved.push_back(tensor_of(number));
    for (ValueNumber number : line.drops) function_.held.push_back(tensor_of(number));
    for (TensorIds* kept : {&function_.saved, &function_.held}) {
      EraseIf(*kept, [](TensorId id) { return !id.valid(); });
      for (TensorId id : *kept) {  // the node takes it at the end, whatever Python's code still has
        int32_t& release = releases_[static_cast<size_t>(id.value())];
        if (release >= function_.span.first && release < function_.span.last) release = function_.span.last;
      }
    }
  }

  absl::Status StartBackward(const Line& line) {
    for (const auto& [gradient, output] : line.pairs) {
      ASSIGN_OR_RETURN(const TensorId id, AddValue(gradient, absl::StrCat("%", gradient), TensorKind::kActivation));
      before_backward_.emplace_back(gradient, TensorId());
      tensor_of(gradient) = id;
      if (tensor_of(output).valid()) function_.gradients_of.emplace_back(id, tensor_of(output));
    }
    backward_ = &function_;
    return absl::OkStatus();
  }

  void EndBackward(const Line& line) {
    for (const auto& [gradient, input] : line.pairs) {
      const auto before = before_function_.find(input);
      const TensorId to = before != before_function_.end() ? before->second : tensor_of(input);
      if (tensor_of(gradient).valid() && to.valid()) function_.gradients_to.emplace_back(tensor_of(gradient), to);
    }
    for (; !before_backward_.empty(); before_backward_.pop_back()) {  // forward has none of what backward makes
      tensor_of(before_backward_.back().first) = before_backward_.back().second;
    }
    backward_ = nullptr;
    if (function_.span.last >= function_.span.first && grad_) out_.functions.push_back(std::move(function_));
    function_ = {};
  }

  // A call within a call is a part of the outer one.
  void StartCheckpoint(const Line& line) {
    if (checkpoint_depth_++ > 0) return;
    checkpoint_ = {.span = {next_node(), -1}, .reentrant = line.flag};
    for (ValueNumber number : line.values) {
      if (tensor_of(number).valid()) checkpoint_.arguments.push_back(tensor_of(number));
    }
  }

  void EndCheckpoint() {
    if (--checkpoint_depth_ > 0) return;
    checkpoint_.span.last = next_node() - 1;
    if (grad_ && checkpoint_.span.last >= checkpoint_.span.first) out_.checkpointed.push_back(std::move(checkpoint_));
    checkpoint_ = {};
  }

  void Finish() {
    const int32_t count = next_node();
    LinkTensors(graph());
    for (const std::optional<ValueNumber>& number : program_.returned) {
      if (!number || !tensor_of(*number).valid()) continue;
      graph().outputs.push_back(tensor_of(*number));
    }
    if (program_.loss >= 0) out_.loss = tensor_of(program_.loss);
    for (TensorId id(0); graph().tensors.contains(id); id = TensorId(id.value() + 1)) {
      int32_t& release = releases_[static_cast<size_t>(id.value())];
      const bool made = graph().tensors[id].producer.valid();
      if (made && release < 0) release = count;  // what the caller holds: an output, or a cache in one
    }
    for (TensorId id : graph().outputs) releases_[static_cast<size_t>(id.value())] = count;
    if (out_.loss.valid()) releases_[static_cast<size_t>(out_.loss.value())] = count;
    for (int32_t release : releases_) out_.releases.Add(release);
    if (!assumed_.empty()) out_.diagnostics.push_back(AssumedOperators(assumed_, "operators"));
  }

  const Program& program_;
  Place place_;
  const onnx_mem::Run& run_;
  Lowered out_;
  TensorIds tensor_of_;            // by value: what its name stands for now
  std::vector<int32_t> releases_;  // by tensor
  absl::flat_hash_map<ValueNumber, int> versions_;
  absl::flat_hash_set<ValueNumber> kept_;               // by the caller
  absl::flat_hash_map<TensorId, TensorId> transposes_;  // of parameters
  std::vector<std::string> calls_, modules_;
  absl::flat_hash_map<std::string, int64_t> calls_of_;
  std::map<std::string, int64_t> assumed_;
  bool grad_ = true;
  CheckpointCall checkpoint_;  // that is open
  int checkpoint_depth_ = 0;
  UserFunction function_;
  UserFunction* backward_ = nullptr;                               // where lines go while its backward is read
  std::vector<std::pair<ValueNumber, TensorId>> before_backward_;  // what its lines changed, first change first
  bool in_function_ = false;
  TensorIds written_in_function_;                               // whose history the node of the function is to lead to
  TensorId first_in_function_;                                  // of what its lines make, whose history is none
  absl::flat_hash_map<ValueNumber, TensorId> before_function_;  // of values that its forward writes over
};

}  // namespace
}  // namespace record

namespace {

// Which variant of the record is asked for. Adapters stand beside layers, and in a record under autocast casts stand
// between a layer and its weight: then the float32 one is taken, and autocast enacted.
std::string PrecisionOf(const Run& run) {
  if (run.autocast && !run.lora.empty()) return "";
  const std::optional<DType>& asked = run.autocast ? run.autocast : run.dtype;
  if (!asked || !IsHalf(*asked)) return "";
  return absl::StrCat(run.autocast ? "amp-" : "", *asked == DType::kBFloat16 ? "bf16" : "fp16");
}

}  // namespace

absl::StatusOr<Lowered> LowerRecord(const BoundRecord& bound, const Run& run) {
  const record::Record& r = *bound.record;
  const auto program_of = [&](std::string_view precision, int64_t batch) -> const record::Program* {
    for (const record::Variant& variant : r.variants) {
      const std::optional<record::Program>& program = run.training ? variant.train : variant.eval;
      if (variant.precision == precision && variant.batch == batch && program) return &*program;
    }
    return nullptr;
  };
  const std::string precision = PrecisionOf(run);
  const record::Program* own = precision.empty() ? nullptr : program_of(precision, 0);
  if (own != nullptr) {
    const record::Program* alone = program_of(precision, bound.place.batch);
    Run as_recorded = run;
    as_recorded.dtype.reset();
    as_recorded.autocast.reset();
    absl::StatusOr<Lowered> lowered =
        record::Lowering(alone != nullptr ? *alone : *own, bound.place, as_recorded).Run();
    if (lowered.ok()) lowered->has_own_casts = true;
    return lowered;
  }
  const record::Program* alone = program_of("", bound.place.batch);
  if (alone != nullptr) return record::Lowering(*alone, bound.place, run).Run();
  // Tables of the other mode are none of this one's: a module may drop them as it changes mode, and need not have been
  // in it.
  const std::optional<record::Program>& asked = run.training ? r.train : r.eval;
  const std::optional<record::Program>& other = run.training ? r.eval : r.train;
  return record::Lowering(asked ? *asked : *other, bound.place, run).Run();
}

}  // namespace onnx_mem
