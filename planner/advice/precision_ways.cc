// Fewer bits: autocast keeps the weights in fp32, conversion turns everything.
#include "absl/strings/numbers.h"
#include "planner/advice/way.h"

namespace onnx_mem {
namespace {

bool HasParametersIn(const Enacted& enacted, DType dtype) {
  for (const Parameter& parameter : enacted.parameters) {
    if (parameter.dtype == dtype) return true;
  }
  return false;
}

// bf16 where the card computes in it (NVIDIA: from Ampere on), since it needs no loss scaling. Where no card is named,
// one of today.
DType HalfTypeOf(const Gpu* card) {
  double capability = 0;
  const bool old = card != nullptr && absl::SimpleAtod(card->compute_capability, &capability) && capability < 8;
  return old ? DType::kFloat16 : DType::kBFloat16;
}

std::string FlagOf(DType dtype) { return dtype == DType::kBFloat16 ? "bf16" : "fp16"; }

bool IsFullPrecision(const Situation& s) {
  return !s.workload.run.dtype && !s.workload.run.autocast && HasParametersIn(*s.enacted, DType::kFloat32);
}

std::vector<Proposal> AllInHalf(const Situation& s, std::string cost, Price price) {
  if (!IsFullPrecision(s)) return {};
  const DType dtype = HalfTypeOf(s.card);
  Proposal change{"all in " + FlagOf(dtype), {"--dtype", FlagOf(dtype)}, std::move(cost), price, s.workload};
  change.workload.run.dtype = dtype;
  return {change};
}

}  // namespace

std::vector<Proposal> ProposeAutocast(const Situation& s) {
  if (!IsFullPrecision(s)) return {};
  const DType dtype = HalfTypeOf(s.card);
  Proposal change{
      FlagOf(dtype) + " autocast", {"--amp", FlagOf(dtype)}, "check accuracy", Price::kAccuracy, s.workload};
  if (dtype == DType::kFloat16 && s.workload.mode == Mode::kTraining) change.cost += "; scale the loss";
  change.workload.run.autocast = dtype;
  return {change};
}

std::vector<Proposal> ProposeHalfPrecision(const Situation& s) {
  if (s.workload.mode == Mode::kTraining) return {};
  return AllInHalf(s, "check accuracy", Price::kAccuracy);
}

std::vector<Proposal> ProposeHalfPrecisionTraining(const Situation& s) {
  if (s.workload.mode != Mode::kTraining) return {};
  return AllInHalf(s, "accuracy; 16-bit states", Price::kTraining);
}

}  // namespace onnx_mem
