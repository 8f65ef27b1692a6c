#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/record/aten/table.h"
#include "analyzer/record/lower/lower_record.h"
#include "analyzer/record/lower/open_calls.h"
#include "analyzer/record/lower/take_results.h"
#include "analyzer/record/lower/value_tensors.h"
#include "analyzer/run/assumed_operators.h"
#include "analyzer/run/work.h"

namespace onnx_mem::record {
namespace {

class LinesLowering {
 public:
  LinesLowering(const Program& program, const Place& place, const Run& run)
      : program_(program), place_(place), run_(run), tensors_(program, place, run, out_) {}

  absl::StatusOr<Lowered> Run() {
    out_.recorded = true;
    RETURN_IF_ERROR(work::CheckLeft());
    work::Spend(work::kOfLowering * static_cast<int64_t>(program_.lines.size()));
    RETURN_IF_ERROR(tensors_.Declare());
    for (const Line& line : program_.lines) RETURN_IF_ERROR(Lower(line));
    tensors_.Finish();
    if (!assumed_.empty()) out_.diagnostics.push_back(AssumedOperators(assumed_, "operators"));
    return std::move(out_);
  }

 private:
  FrameworkGraph& graph() { return out_.graph; }
  TensorId& tensor_of(ValueNumber number) { return tensors_[number]; }

  absl::Status Lower(const Line& line) {
    switch (line.kind) {
      case Line::Kind::kOp: return LowerOp(line);
      case Line::Kind::kCall: modules_.Enter(line.name); break;
      case Line::Kind::kReturn: modules_.Leave(); break;
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

  FrameworkNode NewNode(const Line& line, std::string_view op) {
    FrameworkNode node;
    node.op = op;
    node.name = absl::StrCat(line.name.empty() ? "leaf" : line.name, ":", line.number);
    modules_.Place(node);
    if (!grad_) node.attributes["requires_grad_none"] = int64_t{1};
    return node;
  }

  void Add(FrameworkNode node) {
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
    tensors_.release(id) = std::max(next_node() - 1, 0);
  }

  // What the step before left behind, and this one replaces.
  void ReleaseState(TensorId id) {
    if (!id.valid() || out_.kinds[id] != TensorKind::kBuffer || backward_ != nullptr) return;
    tensors_.release(id) = std::max(next_node() - 1, 0);
  }

  // The results of a line as outputs of `node`, invalid where they are on the host; whether one is written over.
  absl::StatusOr<bool> AddResults(const Line& line, FrameworkNode& node) {
    bool written = false;
    for (size_t i = 0; i < line.values.size(); ++i) {
      const ValueNumber number = line.values[i];
      TensorId id;
      if (!line.made[i]) {
        if (tensor_of(number).valid()) {
          ASSIGN_OR_RETURN(id, tensors_.MakeAgain(number));
          written = true;
        }
      } else if (!IsOnHost(tensors_.value(number))) {
        ASSIGN_OR_RETURN(id, tensors_.Make(number));
      }
      node.outputs.push_back(id);
    }
    return written;
  }

  absl::Status LowerOp(const Line& line) {
    const AtenRow* row = FindAten(line);
    FrameworkNode node = NewNode(line, row != nullptr ? row->op : "assumed");
    ASSIGN_OR_RETURN(const bool in_place, AddResults(line, node));
    if (std::any_of(node.outputs.begin(), node.outputs.end(), [](TensorId id) { return id.valid(); })) {
      const bool differentiates = Differentiates();
      if (row != nullptr && (differentiates || IsRuleFor(graph(), node, in_place))) {
        RETURN_IF_ERROR(MapArguments(line, *row, node));
      } else if (!differentiates) {
        RETURN_IF_ERROR(TakeResults(line, tensors_, graph(), node));
      } else {
        Assume(line, node);
      }
      if (in_place) node.attributes["inplace"] = int64_t{1};
      AddOp(line, std::move(node));
    }
    DropNames(line);
    return absl::OkStatus();
  }

  void AddOp(const Line& line, FrameworkNode node) {
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

  void DropNames(const Line& line) {
    for (ValueNumber number : line.drops) {
      if (tensors_.IsHeldByCaller(number)) continue;
      Drop(tensor_of(number));
      ReleaseState(tensor_of(number));
    }
  }

  void SetTensor(ValueNumber number, TensorId id) {
    if (backward_ != nullptr) before_backward_.emplace_back(number, tensor_of(number));
    tensor_of(number) = id;
  }

  absl::Status MapArguments(const Line& line, const AtenRow& row, FrameworkNode& node) {
    std::vector<int64_t> strides;
    const auto first = std::find_if(node.outputs.begin(), node.outputs.end(), [](TensorId id) { return id.valid(); });
    if (first == node.outputs.begin()) {
      ASSIGN_OR_RETURN(const Dims of_result, tensors_.StridesOf(tensors_.value(line.values.front()).type));
      strides.assign(of_result.begin(), of_result.end());
    }
    const auto current = [this](ValueNumber number) { return tensor_of(number); };
    AtenCall call(line, graph(), run_, place_, current, node, std::move(strides));
    row.map(call);
    return absl::OkStatus();
  }

  // Whether autograd makes a node of an operator here.
  bool Differentiates() const { return run_.training && grad_ && !in_function_ && backward_ == nullptr; }

  void Assume(const Line& line, FrameworkNode& node) {
    node.inputs = TensorsOf(line, tensors_);
    ++assumed_[line.name];
  }

  // Under autocast the cast of a leaf weight is kept, that of its transpose is not: the two lines are one call.
  void JoinLinear(FrameworkNode& node) {
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
    FrameworkNode node = NewNode(line, "leaf");
    ASSIGN_OR_RETURN(const TensorId id, tensors_.MakeAgain(number));
    node.inputs = {old};
    node.outputs = {id};
    Add(std::move(node));
    Drop(old);
    tensor_of(number) = id;
    return absl::OkStatus();
  }

  void StartFunction(const Line& line) {
    if (backward_ != nullptr) return;  // a backward calls it: nothing differentiates it
    function_ = UserFunction{.name = line.name, .span = {next_node(), -1}};
    before_function_.clear();
    in_function_ = true;
    first_in_function_ = graph().tensors.next_id();
  }

  void EndFunction(const Line& line) {
    if (!std::exchange(in_function_, false)) return;
    function_.span.last = next_node() - 1;
    for (TensorId id : written_in_function_) Drop(id);
    written_in_function_.clear();
    for (ValueNumber number : line.values) function_.saved.push_back(tensor_of(number));
    for (ValueNumber number : line.drops) function_.held.push_back(tensor_of(number));
    for (TensorIds* kept : {&function_.saved, &function_.held}) {
      EraseIf(*kept, [](TensorId id) { return !id.valid(); });
      for (TensorId id : *kept) {  // the node takes it at the end, whatever Python's code still has
        int32_t& release = tensors_.release(id);
        if (release >= function_.span.first && release < function_.span.last) release = function_.span.last;
      }
    }
  }

  absl::Status StartBackward(const Line& line) {
    for (const auto& [gradient, output] : line.pairs) {
      ASSIGN_OR_RETURN(const TensorId id, tensors_.Make(gradient));
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

  void StartCheckpoint(const Line& line) {
    if (!checkpoint_.Start(next_node(), line.flag)) return;
    for (ValueNumber number : line.values) {
      if (tensor_of(number).valid()) checkpoint_.call().arguments.push_back(tensor_of(number));
    }
  }

  void EndCheckpoint() {
    std::optional<CheckpointCall> call = checkpoint_.End(next_node());
    if (call && grad_) out_.checkpointed.push_back(std::move(*call));
  }

  const Program& program_;
  Place place_;
  const onnx_mem::Run& run_;
  Lowered out_;
  ValueTensors tensors_;
  absl::flat_hash_map<TensorId, TensorId> transposes_;  // of parameters
  OpenModules modules_;
  std::map<std::string, int64_t> assumed_;
  bool grad_ = true;
  OpenCheckpoint checkpoint_;
  UserFunction function_;
  UserFunction* backward_ = nullptr;                               // where lines go while its backward is read
  std::vector<std::pair<ValueNumber, TensorId>> before_backward_;  // what its lines changed, first change first
  bool in_function_ = false;
  TensorIds written_in_function_;                               // whose history the node of the function is to lead to
  TensorId first_in_function_;                                  // of what its lines make, whose history is none
  absl::flat_hash_map<ValueNumber, TensorId> before_function_;  // of values that its forward writes over
};

}  // namespace

absl::StatusOr<Lowered> LowerLines(const Program& program, const Place& place, const Run& run) {
  return LinesLowering(program, place, run).Run();
}

}  // namespace onnx_mem::record
