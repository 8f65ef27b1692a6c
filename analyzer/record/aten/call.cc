#include "analyzer/record/aten/call.h"

#include <cmath>

namespace onnx_mem::record {
namespace {

std::optional<int64_t> WholeNumber(double number) {
  constexpr double kMost = 9007199254740992.0;  // 2^53: beyond it a double says nothing of the last digits
  if (!(std::abs(number) < kMost)) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace

const Argument* AtenCall::Find(size_t i, std::string_view name) const {
  if (i < line.arguments.size()) return &line.arguments[i];
  for (const auto& [option, argument] : line.options) {
    if (option == name) return &argument;
  }
  return nullptr;
}

bool AtenCall::Has(size_t i, std::string_view name) const {
  const Argument* argument = Find(i, name);
  return argument != nullptr && argument->kind != Argument::Kind::kNone;
}

TensorId AtenCall::Tensor(size_t i, std::string_view name) const {
  const Argument* argument = Find(i, name);
  if (argument == nullptr || argument->kind != Argument::Kind::kValue) return {};
  return tensor_of_(argument->value);
}

TensorIds AtenCall::Tensors(size_t i, std::string_view name) const {
  TensorIds ids;
  const Argument* argument = Find(i, name);
  if (argument == nullptr) return ids;
  for (const Argument& item : argument->items) {
    ids.push_back(item.kind == Argument::Kind::kValue ? tensor_of_(item.value) : TensorId());
  }
  return ids;
}

std::optional<int64_t> AtenCall::Number(const Argument& argument) const {
  switch (argument.kind) {
    case Argument::Kind::kSize: return At(argument.size, place_);
    case Argument::Kind::kBool: return argument.flag ? 1 : 0;
    case Argument::Kind::kFloat: return WholeNumber(argument.number);
    default: return std::nullopt;
  }
}

int64_t AtenCall::Int(size_t i, std::string_view name, int64_t fallback) const {
  const Argument* argument = Find(i, name);
  return argument == nullptr ? fallback : Number(*argument).value_or(fallback);
}

std::vector<int64_t> AtenCall::Ints(size_t i, std::string_view name) const {
  std::vector<int64_t> numbers;
  const Argument* argument = Find(i, name);
  if (argument == nullptr) return numbers;
  if (const std::optional<int64_t> one = Number(*argument)) return {*one};
  for (const Argument& item : argument->items) {
    if (const std::optional<int64_t> number = Number(item)) numbers.push_back(*number);
  }
  return numbers;
}

double AtenCall::Float(size_t i, std::string_view name, double fallback) const {
  const Argument* argument = Find(i, name);
  if (argument == nullptr) return fallback;
  if (argument->kind == Argument::Kind::kFloat) return argument->number;
  const std::optional<int64_t> whole = Number(*argument);
  return whole ? static_cast<double>(*whole) : fallback;
}

bool AtenCall::Flag(size_t i, std::string_view name, bool fallback) const {
  const Argument* argument = Find(i, name);
  return argument != nullptr && argument->kind == Argument::Kind::kBool ? argument->flag : fallback;
}

std::string AtenCall::Text(size_t i, std::string_view name) const {
  const Argument* argument = Find(i, name);
  return argument == nullptr ? "" : argument->text;
}

void AtenCall::TakeInputs(std::initializer_list<size_t> places) {
  for (size_t place : places) node.inputs.push_back(Tensor(place));
}

}  // namespace onnx_mem::record
