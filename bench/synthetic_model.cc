#include "bench/synthetic_model.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace onnx_mem {
namespace {

// A protobuf message under construction: bytes, and runs of zeros that are not held in memory.
class Message {
 public:
  Message& Varint(int field, uint64_t value) {
    AppendVarint(static_cast<uint64_t>(field) << 3);
    AppendVarint(value);
    return *this;
  }
  Message& Text(int field, const std::string& value) {
    AppendLength(field, static_cast<int64_t>(value.size()));
    Append(value);
    return *this;
  }
  Message& Zeros(int field, int64_t count) {
    AppendLength(field, count);
    pieces_.push_back({"", count});
    bytes_ += count;
    return *this;
  }
  Message& Nested(int field, Message message) {
    AppendLength(field, message.bytes_);
    for (Piece& piece : message.pieces_) {
      Append(piece.text);
      if (piece.zeros > 0) pieces_.push_back({"", piece.zeros});
      bytes_ += piece.zeros;
    }
    return *this;
  }
  bool WriteTo(int file) const {
    int64_t position = 0;
    for (const Piece& piece : pieces_) {
      const auto length = static_cast<ssize_t>(piece.text.size());
      if (length > 0 && pwrite(file, piece.text.data(), piece.text.size(), position) != length) return false;
      position += length + piece.zeros;
    }
    return ftruncate(file, position) == 0;
  }

 private:
  struct Piece {
    std::string text;
    int64_t zeros = 0;  // after the text
  };

  void Append(const std::string& text) {
    if (pieces_.empty() || pieces_.back().zeros > 0) pieces_.emplace_back();
    pieces_.back().text += text;
    bytes_ += static_cast<int64_t>(text.size());
  }
  void AppendVarint(uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
    text.push_back(static_cast<char>(value));
    Append(text);
  }
  void AppendLength(int field, int64_t length) {
    AppendVarint(static_cast<uint64_t>(field) << 3 | 2);
    AppendVarint(static_cast<uint64_t>(length));
  }

  std::vector<Piece> pieces_;
  int64_t bytes_ = 0;
};

// Field numbers are those of onnx.proto.
constexpr int kFloat = 1;
constexpr int kExternal = 1;

Message Value(const std::string& name, int64_t width) {
  Message shape;
  shape.Nested(1, Message().Text(2, "N")).Nested(1, Message().Varint(1, static_cast<uint64_t>(width)));
  Message tensor;
  tensor.Varint(1, kFloat).Nested(2, std::move(shape));
  return Message().Text(1, name).Nested(2, Message().Nested(1, std::move(tensor)));
}

Message Weight(const std::string& name, const SyntheticModel& model) {
  const auto width = static_cast<uint64_t>(model.width);
  Message tensor;
  tensor.Varint(1, width).Varint(1, width).Varint(2, kFloat).Text(8, name);
  if (model.inline_weights) return tensor.Zeros(9, model.width * model.width * 4);
  return tensor.Nested(13, Message().Text(1, "location").Text(2, "absent.bin")).Varint(14, kExternal);
}

Message Node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
  Message node;
  for (const std::string& input : inputs) node.Text(1, input);
  return node.Text(2, output).Text(3, output + "_" + op).Text(4, op);
}

Message Model(const SyntheticModel& model) {
  Message graph;
  std::string previous = "x";
  for (int64_t i = 0; i < model.layers; ++i) {
    const std::string index = std::to_string(i);
    graph.Nested(1, Node("Gemm", {previous, "w" + index}, "h" + index));
    previous = i + 1 == model.layers ? "y" : "r" + index;
    graph.Nested(1, Node("Relu", {"h" + index}, previous));
  }
  graph.Text(2, "synthetic");
  for (int64_t i = 0; i < model.layers; ++i) graph.Nested(5, Weight("w" + std::to_string(i), model));
  graph.Nested(11, Value("x", model.width)).Nested(12, Value("y", model.width));
  Message file;
  file.Varint(1, 8).Text(2, "onnx-mem bench").Nested(7, std::move(graph));
  return file.Nested(8, Message().Text(1, "").Varint(2, 17));
}

}  // namespace

bool WriteSyntheticModel(const SyntheticModel& model, const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool written = Model(model).WriteTo(file);
  return close(file) == 0 && written;
}

}  // namespace onnx_mem
