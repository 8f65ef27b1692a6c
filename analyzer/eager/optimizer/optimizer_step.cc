#include "analyzer/eager/optimizer/optimizer_step.h"

#include <algorithm>
#include <numeric>

#include "analyzer/eager/engine/tensor.h"
#include "analyzer/eager/optimizer/optimizer.h"

namespace onnx_mem {
namespace {

using Group = std::vector<const TrainedParameter*>;

std::vector<int64_t> SizesOf(const Group& group) {
  std::vector<int64_t> sizes;
  for (const TrainedParameter* p : group) sizes.push_back(p->bytes);
  return sizes;
}

// Parameters of one type are one list, and one list comes after another.
std::vector<Group> ByType(Parameters parameters) {
  std::vector<Group> groups;
  for (const TrainedParameter& p : parameters) {
    auto it = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.front()->dtype == p.dtype; });
    if (it == groups.end()) it = groups.insert(groups.end(), Group{});
    it->push_back(&p);
  }
  return groups;
}

bool IsMatrix(const TrainedParameter& p) { return p.dims.size() > 1; }

// Adafactor's lists hold matrices only or vectors only.
std::vector<Group> ByTypeAndRank(Parameters parameters) {
  std::vector<Group> groups;
  for (const Group& group : ByType(parameters)) {
    std::vector<Group> halves;
    for (const TrainedParameter* p : group) {
      auto it = std::find_if(halves.begin(), halves.end(),
                             [&](const Group& half) { return IsMatrix(*half.front()) == IsMatrix(*p); });
      if (it == halves.end()) it = halves.insert(halves.end(), Group{});
      it->push_back(p);
    }
    groups.insert(groups.end(), halves.begin(), halves.end());
  }
  return groups;
}

int64_t ElementBytes(const TrainedParameter& p) { return eager::Quotient(p.bytes, p.elements); }

// The list of gradients, copied where weight decay is added to it.
void BindGradients(const Group& group, const StepOptions& options, StepLocals& locals) {
  locals.Delete("grads");
  if (options.weight_decay) locals.Bind("grads", SizesOf(group));
}

void BindGradient(const TrainedParameter& p, const StepOptions& options, StepLocals& locals) {
  locals.Delete("grad");
  if (options.weight_decay) locals.Bind("grad", p.bytes);
}

template <typename Part>
std::vector<int64_t> Factors(const Group& group, Part part) {
  std::vector<int64_t> sizes;
  for (const TrainedParameter* p : group) sizes.push_back(FactorsOf(*p).*part);
  return sizes;
}

}  // namespace

void StepLocals::See(absl::Span<const int64_t> fresh) {
  int64_t bytes = kept_bytes_ + std::accumulate(fresh.begin(), fresh.end(), int64_t{0});
  for (const Variable& variable : variables_) {
    bytes = std::accumulate(variable.bytes.begin(), variable.bytes.end(), bytes);
  }
  if (bytes <= peak_bytes_) return;
  peak_bytes_ = bytes;
  peak_tensors_.assign(fresh.begin(), fresh.end());
  for (const Variable& variable : variables_) {
    peak_tensors_.insert(peak_tensors_.end(), variable.bytes.begin(), variable.bytes.end());
  }
}

void StepLocals::Bind(std::string_view variable, std::vector<int64_t> bytes) {
  See(bytes);
  Delete(variable);
  variables_.push_back({variable, std::move(bytes)});
}

void StepLocals::Delete(std::string_view variable) {
  std::erase_if(variables_, [&](const Variable& v) { return v.name == variable; });
}

void StepLocals::Rename(std::string_view from, std::string_view to) {
  Delete(to);
  for (Variable& variable : variables_) {
    if (variable.name == from) variable.name = to;
  }
}

void StepLocals::Use(int64_t bytes) { See({&bytes, 1}); }

FactorBytes FactorsOf(const TrainedParameter& p) {
  if (!IsMatrix(p) || p.elements == 0) return {};
  const int64_t columns = p.dims.back(), rows = p.dims[p.dims.size() - 2], width = ElementBytes(p);
  return {eager::Quotient(p.elements, columns) * width, eager::Quotient(p.elements, rows) * width,
          eager::Quotient(p.elements, rows * columns) * width};
}

FactorBytes FloatFactorsOf(const TrainedParameter& p) {
  TrainedParameter in_float = p;
  in_float.bytes = 4 * p.elements;
  return FactorsOf(in_float);
}

void NoTemporaries(Parameters, const StepOptions&, StepLocals&) {}

void ForeachSgd(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const Group& group : ByType(parameters)) BindGradients(group, options, locals);
}

// Momentum buffers are made in the first step, each a clone of a gradient; Nesterov's correction is in place.
void ForeachMomentum(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const Group& group : ByType(parameters)) {
    BindGradients(group, options, locals);
    for (const TrainedParameter* p : group) locals.Keep(options.first_step ? p->bytes : 0);
    locals.Use(0);
  }
}

void ForeachAdam(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const Group& group : ByType(parameters)) {
    BindGradients(group, options, locals);
    locals.Delete("grads");
    locals.Bind("exp_avg_sq_sqrt", SizesOf(group));
  }
}

void ForeachAdamW(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  ForeachAdam(parameters, {false, options.first_step}, locals);
}

void ForeachRmsProp(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const Group& group : ByType(parameters)) {
    BindGradients(group, options, locals);
    locals.Bind("avg", SizesOf(group));
  }
}

// The numerator is written into the gradients where they are a copy already.
void ForeachAdagrad(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const Group& group : ByType(parameters)) {
    BindGradients(group, options, locals);
    locals.Bind("std", SizesOf(group));
    if (!options.weight_decay) locals.Bind("numerator", SizesOf(group));
  }
}

void ForeachAdafactor(Parameters parameters, const StepOptions&, StepLocals& locals) {
  for (const Group& group : ByTypeAndRank(parameters)) {
    if (IsMatrix(*group.front())) {
      locals.Bind("row_means", Factors(group, &FactorBytes::rows));
      locals.Delete("row_means");
      locals.Bind("col_means", Factors(group, &FactorBytes::columns));
      locals.Delete("col_means");
      locals.Bind("var_estimates", SizesOf(group));
      locals.Bind("row_var_means", Factors(group, &FactorBytes::mean));
      locals.Delete("row_var_means");
    } else {
      locals.Bind("grads_squared", SizesOf(group));
      locals.Delete("grads_squared");
      locals.Bind("var_estimates", SizesOf(group));
    }
    locals.Rename("var_estimates", "updates");
    locals.Use(ElementBytes(*group.front()));  // a norm
  }
}

void LoopSgd(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) BindGradient(p, options, locals);
}

void LoopMomentum(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) {
    BindGradient(p, options, locals);
    locals.Keep(options.first_step ? p.bytes : 0);
    locals.Use(0);
    locals.Delete("grad");  // grad = buf
  }
}

void LoopNesterov(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) {
    BindGradient(p, options, locals);
    locals.Keep(options.first_step ? p.bytes : 0);
    locals.Bind("grad", p.bytes);
  }
}

void LoopAdam(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) {
    BindGradient(p, options, locals);
    locals.Bind("root", p.bytes);
    locals.Bind("denom", p.bytes);
    locals.Delete("root");
  }
}

void LoopAdamW(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  LoopAdam(parameters, {false, options.first_step}, locals);
}

void LoopRootOfSquares(Parameters parameters, const StepOptions& options, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) {
    BindGradient(p, options, locals);
    locals.Bind("root", p.bytes);
  }
}

void LoopAdafactor(Parameters parameters, const StepOptions&, StepLocals& locals) {
  for (const TrainedParameter& p : parameters) {
    locals.Use(ElementBytes(p));  // the parameter's norm
    if (IsMatrix(p)) {
      const FactorBytes factors = FactorsOf(p);
      locals.Bind("row_mean", factors.rows);
      locals.Bind("col_mean", factors.columns);
      locals.Bind("var_estimate", p.bytes);
      locals.Use(factors.mean);
    } else {
      locals.Bind("grad_squared", p.bytes);
      locals.Bind("var_estimate", p.bytes);
    }
    locals.Rename("var_estimate", "update");
    locals.Use(ElementBytes(p));  // the update's norm
  }
}

}  // namespace onnx_mem
