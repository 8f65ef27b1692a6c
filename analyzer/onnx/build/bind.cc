#include "analyzer/onnx/build/bind.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"
#include "analyzer/graph/suggest.h"
#include "analyzer/onnx/sizes/dim_expression.h"
#include "analyzer/onnx/sizes/input_list.h"
#include "analyzer/onnx/sizes/input_symbols.h"

namespace onnx_mem {
namespace {

absl::Status BindError(Code code, const std::string& message, std::vector<std::string> details = {}) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, code, message, std::move(details));
}

class Binder {
 public:
  Binder(std::vector<DeclaredInput> inputs, const Bindings& bindings)
      : inputs_(std::move(inputs)), bindings_(bindings), symbols_(SymbolsOf(inputs_)) {}

  absl::StatusOr<BoundInputs> Run() {
    RETURN_IF_ERROR(BindGiven());
    RETURN_IF_ERROR(CheckAllBound());
    RETURN_IF_ERROR(FillShapes());
    return std::move(bound_);
  }

  // Inputs and the sizes that are known, with what has none.
  absl::StatusOr<OpenInputs> Open() {
    RETURN_IF_ERROR(BindGiven());
    std::vector<OpenDim> open = OpenDims();
    return OpenInputs{.inputs = std::move(inputs_), .dims = std::move(bound_.dims), .open = std::move(open)};
  }

 private:
  absl::Status BindGiven() {
    RETURN_IF_ERROR(BindNamed());
    RETURN_IF_ERROR(BindOverrides());
    return BindBatch();
  }
  absl::Status BindNamed();
  absl::Status BindOverrides();
  absl::Status BindOverride(const DeclaredInput& input, const Dims& dims);
  absl::Status BindBatch();
  absl::Status CheckOneBatch() const;
  absl::Status CheckAllBound() const;
  absl::Status FillShapes();
  absl::Status Assign(const std::string& symbol, int64_t value, const std::string& by);
  std::optional<int64_t> SizeOf(const DeclaredInput& input, size_t dim) const;
  bool StaticallyBatched(const DeclaredInput& input) const;
  std::map<std::string, OpenDim> Places() const;
  std::vector<OpenDim> OpenDims() const;

  std::vector<DeclaredInput> inputs_;
  const Bindings& bindings_;
  BoundInputs bound_;
  InputSymbols symbols_;
  std::map<std::string, std::string> by_;  // symbol -> option that bound it
};

absl::Status Binder::Assign(const std::string& symbol, int64_t value, const std::string& by) {
  const auto [it, fresh] = bound_.dims.emplace(symbol, value);
  if (fresh) by_[symbol] = by;
  if (it->second == value) return absl::OkStatus();
  return BindError(Code::kDimConflict, absl::StrCat(by, " makes dimension '", symbol, "' ", value, ", but ",
                                                    by_[symbol], " makes it ", it->second));
}

absl::Status Binder::BindNamed() {
  for (const auto& [symbol, value] : bindings_.dims) {
    const std::string option = absl::StrCat("--dim ", symbol, "=", value);
    if (std::find(symbols_.all.begin(), symbols_.all.end(), symbol) == symbols_.all.end()) {
      const std::string near = DidYouMean(symbol, symbols_.all);
      const std::string known = symbols_.all.empty()
                                    ? "all dimensions of the model's inputs are fixed"
                                    : absl::StrCat("the model has: ", absl::StrJoin(symbols_.all, ", "));
      return BindError(Code::kUnknownDim, absl::StrCat(option, ": no such dimension"),
                       {near.empty() ? known : absl::StrCat(known, ".  ", near)});
    }
    if (value < 0) return BindError(Code::kBadShape, absl::StrCat(option, ": a dimension cannot be negative"));
    RETURN_IF_ERROR(Assign(symbol, value, option));
  }
  return absl::OkStatus();
}

absl::Status Binder::BindOverrides() {
  for (const auto& [name, dims] : bindings_.inputs) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&n = name](const auto& i) { return i.name == n; });
    if (input == inputs_.end()) {
      std::vector<std::string> names;
      for (const DeclaredInput& known : inputs_) names.push_back(known.name);
      const std::string near = DidYouMean(name, names);
      const std::string known = absl::StrCat("the model has: ", absl::StrJoin(names, ", "));
      return BindError(Code::kUnknownInput,
                       absl::StrCat("--input ", name, "=", ToString(Shape(dims)), ": no such input"),
                       {near.empty() ? known : absl::StrCat(known, ".  ", near)});
    }
    RETURN_IF_ERROR(BindOverride(*input, dims));
  }
  return absl::OkStatus();
}

absl::Status Binder::BindOverride(const DeclaredInput& input, const Dims& dims) {
  const std::string option = absl::StrCat("--input ", input.name, "=", ToString(Shape(dims)));
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) {
    return BindError(Code::kBadShape, absl::StrCat(option, ": a dimension cannot be negative"));
  }
  if (!input.has_rank) return absl::OkStatus();
  if (dims.size() != input.dims.size()) {
    return BindError(Code::kBadShape, absl::StrCat(option, " has ", dims.size(), " dimensions, the model's input has ",
                                                   input.dims.size(), ": ", TextOf(input)));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const DeclaredDim& declared = input.dims[i];
    // A formula of several symbols is checked, not solved, once they are known.
    if (declared.size || declared.symbol.empty()) continue;
    const std::vector<std::string> names = DimNames(declared.symbol);
    if (names.size() == 1 && names[0] == declared.symbol) RETURN_IF_ERROR(Assign(names[0], dims[i], option));
  }
  return absl::OkStatus();
}

// Whether `input`'s fixed dim 0 is the batch. A lone number such as a sampling rate [1] is none; nor is any fixed dim
// beside symbolic ones, which the exporter would have made symbolic too, or beside one that is called batch: [35,
// batch].
bool Binder::StaticallyBatched(const DeclaredInput& input) const {
  if (symbols_.leading || !symbols_.batch.empty() || input.dims.empty() || input.dims[0].size != bound_.file_batch)
    return false;
  return input.dims.size() > 1 || bound_.file_batch > 1 || inputs_.size() == 1;
}

absl::Status Binder::BindBatch() {
  if (!symbols_.leading) {
    const auto batched = [](size_t rank) {
      return [rank](const DeclaredInput& input) { return input.dims.size() >= rank && input.dims[0].size; };
    };
    auto first = std::find_if(inputs_.begin(), inputs_.end(), batched(2));
    if (first == inputs_.end()) first = std::find_if(inputs_.begin(), inputs_.end(), batched(1));
    if (first != inputs_.end()) bound_.file_batch = *first->dims[0].size;
  }
  const std::string option = bindings_.batch ? absl::StrCat("--batch ", *bindings_.batch) : "the default";
  const int64_t batch = bindings_.batch.value_or(1);
  if (batch < 1) return BindError(Code::kBadShape, absl::StrCat(option, ": a batch has at least one sample"));
  RETURN_IF_ERROR(CheckOneBatch());
  for (const std::string& symbol : symbols_.batch) {
    const bool named = bindings_.dims.count(symbol) > 0;  // the more particular option wins
    if (named || (!bindings_.batch && bound_.dims.count(symbol) > 0)) continue;
    RETURN_IF_ERROR(Assign(symbol, batch, option));
  }
  if (!bindings_.batch && !symbols_.batch.empty()) {
    const std::string main = symbols_.MainBatch();
    if (bound_.dims.at(main) > 0) bound_.file_batch = bound_.dims.at(main);
  }
  if (!bindings_.batch || symbols_.leading || !symbols_.batch.empty()) return absl::OkStatus();
  if (std::none_of(inputs_.begin(), inputs_.end(), [&](const auto& input) { return StaticallyBatched(input); })) {
    return BindError(Code::kStaticBatch, absl::StrCat(option, ": no input of the model has a batch dimension"),
                     {"way out: --input NAME=SHAPE, or drop --batch"});
  }
  return absl::OkStatus();
}

// Nothing would be left for --batch to change where other options give every batch, and every row of a sweep would say
// the same.
absl::Status Binder::CheckOneBatch() const {
  if (!bindings_.batch) return absl::OkStatus();
  const auto conflict = [&](const std::string& other, int64_t theirs) {
    return BindError(Code::kDimConflict,
                     absl::StrCat("--batch ", *bindings_.batch, " and ", other, " give two batches, ", *bindings_.batch,
                                  " and ", theirs),
                     {absl::StrCat("way out: without ", other)});
  };
  for (const auto& [name, dims] : bindings_.inputs) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&n = name](const auto& i) { return i.name == n; });
    if (input == inputs_.end() || !StaticallyBatched(*input) || dims.front() == *bindings_.batch) continue;
    return conflict(absl::StrCat("--input ", name, "=", ToString(Shape(dims))), dims.front());
  }
  const bool all_named = std::all_of(symbols_.batch.begin(), symbols_.batch.end(), [&](const std::string& symbol) {
    const auto given = bindings_.dims.find(symbol);
    return given != bindings_.dims.end() && given->second != *bindings_.batch;
  });
  if (symbols_.batch.empty() || !all_named) return absl::OkStatus();
  const std::string main = symbols_.MainBatch();
  return conflict(absl::StrCat("--dim ", main, "=", bindings_.dims.at(main)), bindings_.dims.at(main));
}

std::optional<int64_t> Binder::SizeOf(const DeclaredInput& input, size_t dim) const {
  if (const auto requested = bindings_.inputs.find(input.name); requested != bindings_.inputs.end())
    return requested->second[dim];
  const DeclaredDim& declared = input.dims[dim];
  if (declared.size) return dim == 0 && bindings_.batch && StaticallyBatched(input) ? *bindings_.batch : *declared.size;
  if (declared.symbol.empty()) return dim == 0 ? std::optional(bindings_.batch.value_or(1)) : std::nullopt;
  return EvaluateDim(declared.symbol, bound_.dims);
}

// Of each symbol the first dimension that is called so, rather than one of a formula that has the name.
std::map<std::string, OpenDim> Binder::Places() const {
  std::map<std::string, OpenDim> places;
  for (size_t k = 0; k < inputs_.size(); ++k) {
    for (size_t i = 0; i < inputs_[k].dims.size(); ++i) {
      const std::string& symbol = inputs_[k].dims[i].symbol;
      places.try_emplace(symbol, OpenDim{.input = k, .dim = i, .symbol = symbol});
    }
  }
  return places;
}

std::vector<OpenDim> Binder::OpenDims() const {
  std::vector<OpenDim> open;
  absl::flat_hash_set<std::string> seen;
  const std::map<std::string, OpenDim> places = Places();
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const DeclaredInput& input = inputs_[k];
    if (!input.has_rank && bindings_.inputs.count(input.name) == 0) open.push_back({.input = k});
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (SizeOf(input, i)) continue;
      if (input.dims[i].symbol.empty()) open.push_back({.input = k, .dim = i});
      for (const std::string& symbol : DimNames(input.dims[i].symbol)) {
        const bool known = symbol.empty() || bound_.dims.count(symbol) > 0;
        if (known || !seen.insert(symbol).second) continue;
        const auto place = places.find(symbol);
        open.push_back(place != places.end() ? place->second : OpenDim{.input = k, .dim = i, .symbol = symbol});
      }
    }
  }
  return open;
}

absl::Status Binder::CheckAllBound() const {
  const std::vector<OpenDim> open = OpenDims();
  if (open.empty()) return absl::OkStatus();
  return BindError(Code::kUnboundDim, WhatIsOpen(inputs_, open), {InputList(inputs_)});
}

absl::Status Binder::FillShapes() {
  for (const DeclaredInput& input : inputs_) {
    Dims dims;
    if (!input.has_rank) {
      dims = bindings_.inputs.at(input.name);
    }
    for (size_t i = 0; i < input.dims.size(); ++i) {
      const std::optional<int64_t> size = SizeOf(input, i);
      if (!size || *size < 0) {
        return BindError(Code::kBadShape, absl::StrCat("dimension '", input.dims[i].symbol, "' of input '", input.name,
                                                       "' cannot be computed from the sizes given"));
      }
      dims.push_back(*size);
      if (input.dims[i].size && *input.dims[i].size != *size) {
        bound_.changes.push_back({input.name, static_cast<int>(i), *input.dims[i].size, *size});
      }
    }
    const Shape shape(std::move(dims));
    if (!NumBytes(shape, input.dtype)) {
      return BindError(Code::kBadShape,
                       absl::StrCat("input '", input.name, "' of shape ", ToString(shape), " is too large to count"));
    }
    bound_.shapes.emplace(input.name, shape);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpenInputs> FindOpenInputs(const onnx::GraphProto& graph, const Bindings& bindings) {
  ASSIGN_OR_RETURN(std::vector<DeclaredInput> inputs, DeclaredInputs(graph));
  return Binder(std::move(inputs), bindings).Open();
}

absl::StatusOr<BoundInputs> BindInputs(const onnx::GraphProto& graph, const Bindings& bindings) {
  ASSIGN_OR_RETURN(std::vector<DeclaredInput> inputs, DeclaredInputs(graph));
  return Binder(std::move(inputs), bindings).Run();
}

}  // namespace onnx_mem
