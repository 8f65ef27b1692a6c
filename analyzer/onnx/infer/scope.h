// What one graph (or body) knows about its values while shapes are inferred, and the graph around it.
#ifndef ONNX_MEM_ANALYZER_ONNX_INFER_SCOPE_H_
#define ONNX_MEM_ANALYZER_ONNX_INFER_SCOPE_H_

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analyzer/graph/absl_view.h"
#include "analyzer/graph/dag.h"
#include "analyzer/onnx/infer/shapes.h"
#include "google/protobuf/arena.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

// One value. Messages belong to the model or to the pass's arena; contents are read only when someone asks.
struct ScopeValue {
  const onnx::TypeProto* type = nullptr;      // null: nothing is known
  const onnx::TensorProto* tensor = nullptr;  // contents in the form that schemas read
  LiteralPtr literal;                         // contents in the form that folding reads; may have unknown elements
  const onnx::TensorShapeProto* symbolic = nullptr;  // a partly known integer vector, in the form that schemas read
  bool partial = false;                              // `literal` has unknown elements
  bool tensor_was_read = false;                      // whether `tensor` was tried as a literal
  bool upper_bound = false;                          // the size depends on data; dims are the largest possible
  bool contents_are_bounds = false;                  // likewise for the elements of `literal` (bounds.h)
};

// Whether the contents may be known: cheap, reads nothing.
inline bool MayHaveContents(const ScopeValue& value) {
  return value.literal != nullptr || (value.tensor != nullptr && !value.tensor_was_read);
}

// The contents as a literal, in part or whole; null where unknown.
const Literal* ContentsOf(ScopeValue& value);
// The complete contents as a tensor; null where any element is unknown.
const onnx::TensorProto* TensorOf(ScopeValue& value, google::protobuf::Arena& arena);
// A partly known scalar or vector of integers as dims, unknown elements without value; null where nothing is known.
const onnx::TensorShapeProto* SymbolicOf(ScopeValue& value, google::protobuf::Arena& arena);

// The shape of a type: no rank for whatever is not a tensor with a shape.
Shape ShapeOfType(const onnx::TypeProto* type);
// Whether the type is a tensor of which every dim is known.
bool IsFullyKnown(const onnx::TypeProto* type);
// A tensor type; a shape without rank leaves the type's shape unset.
onnx::TypeProto* MakeType(int element_type, const Shape& shape, google::protobuf::Arena& arena);

ValueFact FactOf(ScopeValue& value);

// too-large: `what`, a node or an input in words, has a tensor of more than limits::kHighestRank dimensions.
absl::Status TooManyDimensions(std::string_view what, int rank);

// Values by name, searched outward. Names and messages outlive the scope; addresses of values are stable.
class ValueScope {
 public:
  explicit ValueScope(ValueScope* outer = nullptr) : outer_(outer), depth_(outer == nullptr ? 0 : outer->depth_ + 1) {}
  ValueScope(const ValueScope&) = delete;
  ValueScope& operator=(const ValueScope&) = delete;

  int depth() const { return depth_; }
  void Reserve(size_t count) { by_name_.reserve(count); }

  // Null where no graph has a value of that name (yet).
  ScopeValue* Find(std::string_view name) {
    for (ValueScope* scope = this; scope != nullptr; scope = scope->outer_) {
      auto found = scope->by_name_.find(View(name));
      if (found != scope->by_name_.end()) return found->second;
    }
    return nullptr;
  }

  // Binds `name`, which must outlive the scope; an empty name (an omitted output) is ignored.
  void Set(std::string_view name, ScopeValue value) {
    if (name.empty()) return;
    if (value.type != nullptr && value.type->has_tensor_type()) {
      highest_rank_ = std::max(highest_rank_, value.type->tensor_type().shape().dim_size());
    }
    values_.push_back({name, std::move(value)});
    by_name_.insert_or_assign(View(name), &values_.back().value);
  }

  // In the order in which they were bound, which is that of memory: a name that was bound again comes again.
  struct Bound {
    std::string_view name;
    ScopeValue value;
  };
  std::deque<Bound>& bound() { return values_; }
  // The most dimensions that a tensor set so far has.
  int highest_rank() const { return highest_rank_; }

 private:
  ValueScope* outer_;
  int depth_;
  int highest_rank_ = 0;
  std::deque<Bound> values_;
  absl::flat_hash_map<absl::string_view, ScopeValue*> by_name_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_INFER_SCOPE_H_
