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

constexpr uint64_t kPositions = 16;  // of a transformer's sequence

Message Dim(uint64_t size) { return Message().Varint(1, size); }

Message Value(const std::string& name, const SyntheticModel& model) {
  Message shape;
  shape.Nested(1, Message().Text(2, "N"));
  if (model.form == SyntheticForm::kTransformer) shape.Nested(1, Dim(kPositions));
  shape.Nested(1, Dim(static_cast<uint64_t>(model.width)));
  Message tensor;
  tensor.Varint(1, kFloat).Nested(2, std::move(shape));
  return Message().Text(1, name).Nested(2, Message().Nested(1, std::move(tensor)));
}

// A graph under construction: nodes named as exporters name them, by module and operator.
class GraphText {
 public:
  explicit GraphText(const SyntheticModel& model) : model_(model) {}

  void SetModule(std::string module) { module_ = std::move(module); }

  // Returns its result, called after the node but for `output`.
  std::string Add(const std::string& op, const std::vector<std::string>& inputs, std::string output = "",
                  Message node = {}) {
    const std::string name = "/" + module_ + "/" + op + "_" + std::to_string(count_++);
    if (output.empty()) output = name + "_output_0";
    for (const std::string& input : inputs) node.Text(1, input);
    graph_.Nested(1, node.Text(2, output).Text(3, name).Text(4, op));
    return output;
  }

  // With its last two dimensions in each other's place.
  std::string Transposed(const std::string& tensor) {
    constexpr uint64_t kInts = 7;
    Message order;
    order.Text(1, "perm").Varint(8, 0).Varint(8, 2).Varint(8, 1).Varint(20, kInts);
    return Add("Transpose", {tensor}, "", std::move(Message().Nested(5, std::move(order))));
  }

  std::string Matrix(const std::string& name) { return Weight(name, 2); }
  std::string Vector(const std::string& name) { return Weight(name, 1); }

  Message Finish() {
    graph_.Text(2, "synthetic");
    for (Message& weight : weights_) graph_.Nested(5, std::move(weight));
    return std::move(graph_.Nested(11, Value("x", model_)).Nested(12, Value("y", model_)));
  }

 private:
  std::string Weight(const std::string& name, int rank) {
    const std::string whole = module_ + "." + name;
    Message tensor;
    int64_t bytes = 4;
    for (int i = 0; i < rank; ++i) {
      tensor.Varint(1, static_cast<uint64_t>(model_.width));
      bytes *= model_.width;
    }
    tensor.Varint(2, kFloat).Text(8, whole);
    if (model_.inline_weights) {
      tensor.Zeros(9, bytes);
    } else {
      tensor.Nested(13, Message().Text(1, "location").Text(2, "absent.bin")).Varint(14, kExternal);
    }
    weights_.push_back(std::move(tensor));
    return whole;
  }

  const SyntheticModel& model_;
  Message graph_;
  std::vector<Message> weights_;
  std::string module_;
  int64_t count_ = 0;
};

// What a layer makes of `x`.
std::string Residual(GraphText& graph, const std::string& x, const std::string& output) {
  const std::string h = graph.Add("Gemm", {x, graph.Matrix("weight")});
  return graph.Add("Add", {graph.Add("Relu", {h}), x}, output);
}

std::string TransformerLayer(GraphText& graph, const std::string& x, const std::string& output) {
  const auto norm = [&](const std::string& of, const std::string& name) {
    return graph.Add("LayerNormalization", {of, graph.Vector(name + ".weight"), graph.Vector(name + ".bias")});
  };
  const auto linear = [&](const std::string& of, const std::string& name) {
    return graph.Add("MatMul", {of, graph.Matrix(name + ".weight")});
  };
  const std::string a = norm(x, "norm1");
  const std::string q = linear(a, "q"), k = linear(a, "k"), v = linear(a, "v");
  const std::string scores = graph.Add("MatMul", {q, graph.Transposed(k)});
  const std::string mixed = graph.Add("MatMul", {graph.Add("Softmax", {scores}), v});
  const std::string h = graph.Add("Add", {linear(mixed, "o"), x});
  const std::string hidden = graph.Add("Relu", {linear(norm(h, "norm2"), "fc1")});
  return graph.Add("Add", {linear(hidden, "fc2"), h}, output);
}

Message Model(const SyntheticModel& model) {
  GraphText graph(model);
  std::string previous = "x";
  std::vector<std::string> results;
  for (int64_t i = 0; i < model.layers; ++i) {
    graph.SetModule("layers." + std::to_string(i));
    const std::string output = i + 1 == model.layers && model.form != SyntheticForm::kWide ? "y" : "";
    switch (model.form) {
      case SyntheticForm::kChain:
        previous = graph.Add("Relu", {graph.Add("Gemm", {previous, graph.Matrix("weight")})}, output);
        break;
      case SyntheticForm::kResidual: previous = Residual(graph, previous, output); break;
      case SyntheticForm::kTransformer: previous = TransformerLayer(graph, previous, output); break;
      case SyntheticForm::kWide:
        results.push_back(graph.Add("Relu", {graph.Add("Gemm", {"x", graph.Matrix("weight")})}));
        break;
    }
  }
  if (model.form == SyntheticForm::kWide) graph.Add("Sum", results, "y");
  Message file;
  file.Varint(1, 8).Text(2, "onnx-mem bench").Nested(7, graph.Finish());
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
