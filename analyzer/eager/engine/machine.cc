#include "analyzer/eager/engine/machine.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "analyzer/eager/engine/copy_slices.h"
#include "analyzer/eager/spans/span_hook.h"
#include "analyzer/graph/absl_view.h"

namespace onnx_mem::eager {
namespace {

constexpr std::string_view kWrappedNumber = "wrapped_number";

// torch/csrc/autograd/utils/grad_layout_contract.h: a gradient is stolen only if it is laid out as its parameter.
bool ObeysLayoutContract(const EagerTensor& grad, const EagerTensor& parameter) {
  if (!IsNonOverlappingAndDense(parameter)) return IsContiguous(grad);
  for (size_t i = 0; i < grad.dims.size(); ++i) {
    if (grad.dims[i] == 1 ? grad.strides[i] == 0 : grad.strides[i] != parameter.strides[i]) return false;
  }
  return true;
}

// A stride for each dimension, whatever a malformed record says of a result: a split or a view of another rank than
// what it is made of.
Dims OnePerDimension(const Dims& strides, const Dims& dims) {
  return strides.size() == dims.size() ? strides : ContiguousStrides(dims);
}

}  // namespace

void NodeRef::Save(const TensorRef& t) {
  if (m_ != nullptr) m_->Save(index_, t);
}

void NodeRef::SaveScalar(int64_t bytes) {
  if (m_ == nullptr || !m_->counts_numbers()) return;
  // Not a dispatched operator: the wrapper is made while the arguments are packed. Its bytes belong to the next step
  // of the program, so it needs one of its own.
  m_->Save(index_, m_->New(kWrappedNumber, Dims{bytes}, DType::kUInt8));
}

void NodeRef::Output(const TensorRef& t) {
  if (m_ == nullptr) return;
  if (t->rebases) return RebaseHistory(*m_, index_, t);
  AutogradNode& node = m_->node(index_);
  t->grad_edge = m_->EdgeTo(index_, static_cast<int32_t>(node.outputs.size()));
  t->requires_grad = true;
  node.outputs.push_back({t->dims, t->dtype});
}

void NodeRef::Formula(onnx_mem::eager::Formula formula) {
  if (m_ == nullptr) return;
  AutogradNode& node = m_->node(index_);
  node.formula = node.view ? ThroughView(std::move(formula), node.outputs[0], *node.view) : std::move(formula);
}

bool NodeRef::needs(size_t edge) const { return m_ != nullptr && m_->node(index_).edges[edge].node >= 0; }

TensorRef Machine::New(std::string_view op, const Dims& dims, DType dtype, int64_t flops) {
  return New(op, dims, dtype, ContiguousStrides(dims), flops);
}

TensorRef Machine::New(std::string_view op, const Dims& dims, DType dtype, const Dims& strides, int64_t flops) {
  BeginStep(op, flops);
  return Allocate(dims, dtype, strides);
}

void Machine::BeginStep(std::string_view op, int64_t flops) {
  next_output_ = 0;
  runs_ = span_ == nullptr || op == kWrappedNumber || span_->OnDispatch(op);
  recorder_.SetMuted(!runs_);
  recorder_.BeginStep(op, flops);
}

TensorRef Machine::NewLike(std::string_view op, const EagerTensor& t) { return NewLike(op, t, t.dtype); }

TensorRef Machine::NewLike(std::string_view op, const EagerTensor& t, DType dtype) {
  return New(op, t.dims, dtype, LikeStrides(t));
}

TensorRef Machine::Allocate(const Dims& dims, DType dtype) { return Allocate(dims, dtype, ContiguousStrides(dims)); }

TensorRef Machine::Allocate(const Dims& dims, DType dtype, const Dims& strides) {
  const int output = next_output_++;
  if (!runs_) {
    if (TensorRef kept = span_->Kept(output)) return kept;
  }
  auto t = std::make_shared<EagerTensor>();
  t->dims = dims;
  t->strides = OnePerDimension(strides, dims);
  t->dtype = dtype;
  t->storage = recorder_.Allocate(DenseBytes(dims, dtype), dims, dtype);
  if (runs_ && span_ != nullptr) span_->OnOutput(output, t);
  return t;
}

TensorRef Machine::Alias(const TensorRef& t, const Dims& dims, const Dims& strides, bool is_view) {
  auto alias = std::make_shared<EagerTensor>();
  alias->storage = t->storage;
  alias->dims = dims;
  alias->strides = OnePerDimension(strides, dims);
  alias->dtype = t->dtype;
  alias->is_view = is_view;
  // In inference a view of a parameter still says that it wants a gradient, and the matrix product asks.
  alias->requires_grad = !run_.training && t->requires_grad;
  return alias;
}

bool Machine::NeedsGrad(std::initializer_list<const TensorRef*> inputs) const {
  if (!grad_enabled_) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const TensorRef* t) { return *t != nullptr && (*t)->requires_grad; });
}

NodeRef Machine::MakeNode(std::string_view name, std::initializer_list<TensorRef> arguments) {
  return MakeNode(name, std::span(arguments.begin(), arguments.size()));
}

NodeRef Machine::MakeNode(std::string_view name, std::span<const TensorRef> arguments) {
  if (!grad_enabled_) return {};
  for (const TensorRef& argument : arguments) {
    if (argument != nullptr) RefreshHistory(*this, argument);
  }
  if (std::none_of(arguments.begin(), arguments.end(),
                   [](const TensorRef& t) { return t != nullptr && t->requires_grad; })) {
    return {};
  }
  AutogradNode node;
  node.name = name;
  node.origin = origin_;
  for (const TensorRef& argument : arguments) {
    if (argument == nullptr || !argument->requires_grad) {
      node.edges.push_back({});
      continue;
    }
    node.edges.push_back(argument->is_leaf_parameter ? EdgeToLeaf(argument) : argument->grad_edge);
  }
  auto [index, share] = AddNode(std::move(node));
  return NodeRef(this, index, std::move(share));
}

Machine::OriginTexts& Machine::TextsOf(const FrameworkNode& origin) {
  const bool of_graph = std::less_equal<>()(nodes_of_graph_.data(), &origin) &&
                        std::less<>()(&origin, nodes_of_graph_.data() + nodes_of_graph_.size());
  return of_graph ? texts_of_nodes_[static_cast<size_t>(&origin - nodes_of_graph_.data())] : other_texts_[&origin];
}

void Machine::SetOrigin(const FrameworkNode* origin) {
  origin_ = origin;
  if (origin == nullptr) return recorder_.SetNode({}, {});
  OriginTexts& texts = TextsOf(*origin);
  if (texts.node.empty()) texts.node = origin->name;
  if (texts.module.empty()) texts.module = last_module_ == origin->module ? last_module_ : SharedText(origin->module);
  last_module_ = texts.module;
  recorder_.SetNode(texts.node, texts.module);
}

// "conv layer1.0.conv2 for its weight gradient".
std::string Machine::Saver(int32_t index, const TensorRef& t) {
  const FrameworkNode* origin = node(index).origin;
  const auto saver = [&](std::string_view purpose) {
    if (origin == nullptr) return absl::StrCat("the loss", onnx_mem::View(purpose));
    const std::string& place = origin->module.empty() ? origin->name : origin->module;
    return absl::StrCat(origin->op.str(), " ", place, onnx_mem::View(purpose));
  };
  const auto is = [&](std::string_view prefix) { return node(index).name.starts_with(prefix); };
  if (is("Convolution") || is("Addmm") || is("MmBackward")) {
    const bool weight = recorder_.category(t->storage->buffer) == Category::kParameters;
    return saver(weight ? " for its input's gradient" : " for its weight gradient");
  }
  const bool product = is("Bmm") || is("ScaledDotProduct");
  return saver(product ? " for its operands' gradients" : " for its gradient");
}

void Machine::MarkSaved(int32_t index, const TensorRef& t) {
  if (!recorder_.IsSaved(t->storage->buffer)) recorder_.MarkSaved(t->storage->buffer, Saver(index, t));
}

SavedTensor Machine::Hold(int32_t index, const TensorRef& t) {
  MarkSaved(index, t);
  return {.tensor = Alias(t, t->dims, t->strides, t->is_view)};
}

void Machine::Save(int32_t index, const TensorRef& t) {
  std::optional<SavedTensor> saved;
  if (t == nullptr) saved.emplace();
  if (!saved && span_ != nullptr) saved = span_->OnSave(index, t);
  if (!saved) saved = Hold(index, t);
  node(index).saved.push_back(*std::move(saved));
}

TensorRef Machine::Unpack(const SavedTensor& saved) {
  return saved.packed != nullptr ? saved.packed->Unpack(saved) : saved.tensor;
}

void Machine::Drop(const std::vector<SavedTensor>& saved) {
  for (const SavedTensor& entry : saved) {
    if (entry.packed != nullptr) entry.packed->Drop(entry);
  }
}

void Machine::Release(std::vector<SavedTensor>& saved) {
  Drop(saved);
  saved.clear();
}

void Machine::AccumulateGrad(const TensorRef& parameter, TensorRef grad) {
  const auto leaf = leaf_gradients_.find(parameter.get());
  const bool is_leaf = leaf != leaf_gradients_.end();
  const bool again = is_leaf ? leaf->second != nullptr : !with_gradient_.insert(parameter.get()).second;
  if (again) {  // accumulated in place; `grad` is freed
    BeginStep("add_");
    recorder_.AddMovedBytes(3 * DenseBytes(grad->dims, grad->dtype));
    return;
  }
  if (grad.use_count() > 1 || !ObeysLayoutContract(*grad, *parameter)) {
    grad = New("clone", parameter->dims, grad->dtype, LikeStrides(*parameter));
  }
  if (is_leaf) {
    leaf->second = std::move(grad);
    return;
  }
  recorder_.SetCategory(grad->storage->buffer, Category::kGradients);
  arrivals_.push_back({parameter->storage->buffer, grad->storage->buffer, recorder_.current_step()});
  recorder_.MarkHeld(grad->storage->buffer, "kept for the optimizer");
  gradients_.emplace_back(parameter.get(), std::move(grad));
}

}  // namespace onnx_mem::eager
