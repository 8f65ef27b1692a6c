#include "analyzer/record/binding/program_face.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace onnx_mem::record {
namespace {

class NameReader {
 public:
  NameReader(const Program& program, ProgramFace& face) : program_(program), face_(face) {}

  void ReadAll() {
    for (const Line& line : program_.lines) {
      for (ValueNumber number : line.values) Name(number);
      for (ValueNumber number : line.drops) Drop(number);
      if (line.kind != Line::Kind::kOp) continue;
      face_.has_operators = true;
      const bool convolves = absl::StrContains(line.name, "convolution");
      for (const Argument& argument : line.arguments) Read(argument, convolves);
      for (const auto& [name, argument] : line.options) Read(argument, convolves);
    }
    for (const Value& v : program_.values) {
      if (v.type.root >= 0) Name(v.type.root);
    }
    for (const std::optional<ValueNumber>& number : program_.returned) {
      if (number) Read({.kind = Argument::Kind::kValue, .value = *number}, false);
    }
  }

 private:
  const Value& value(ValueNumber number) const { return program_.values[static_cast<size_t>(number)]; }
  void Name(ValueNumber number) { face_.unread_constants.erase(&value(number)); }

  void Drop(ValueNumber number) {
    Name(number);
    if (value(number).kind == Value::Kind::kBuffer) face_.replaced.insert(&value(number));
  }

  void Read(const Argument& argument, bool convolves) {
    for (const Argument& item : argument.items) Read(item, convolves);
    if (argument.kind != Argument::Kind::kValue) return;
    const Value& v = value(argument.value);
    Name(argument.value);
    if (v.kind == Value::Kind::kInput) {
      face_.read.insert(PlainName(v.name));
      for (const std::string& other : v.tied) face_.read.insert(PlainName(other));
    }
    if (v.kind != Value::Kind::kParameter && v.kind != Value::Kind::kBuffer) return;
    face_.read.insert(v.name);
    if (convolves) face_.convolved.insert(v.name);
  }

  const Program& program_;
  ProgramFace& face_;
};

}  // namespace

std::string PlainName(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return plain;
}

ProgramFace FaceOf(const Program& program) {
  ProgramFace face;
  for (const Value& v : program.values) {
    if (!v.defined) continue;
    if (v.kind == Value::Kind::kInput) face.inputs.push_back(&v);
    if (v.kind == Value::Kind::kConstant) {
      face.constants.push_back(&v);
      face.unread_constants.insert(&v);
    }
    if (v.kind != Value::Kind::kParameter && v.kind != Value::Kind::kBuffer) continue;
    face.stored.push_back(&v);
    face.named[v.name] = &v;
    for (const std::string& other : v.tied) face.named[other] = &v;
  }
  NameReader(program, face).ReadAll();
  return face;
}

}  // namespace onnx_mem::record
