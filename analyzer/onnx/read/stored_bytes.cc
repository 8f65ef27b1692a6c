#include "analyzer/onnx/read/stored_bytes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "analyzer/graph/dtype.h"
#include "analyzer/graph/shape.h"
#include "analyzer/onnx/read/tensor_literal.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {
namespace {

// Walks the fields of one protobuf message; the file has been read once without complaint.
class Fields {
 public:
  Fields(ByteWindow& bytes, int64_t begin, int64_t end) : bytes_(bytes), at_(begin), end_(end) {}
  bool Next() {
    uint64_t tag = 0, length = 0;
    if (at_ >= end_ || !ReadVarint(bytes_, at_, end_, tag)) return false;
    number = static_cast<int>(tag >> 3);
    is_bytes = (tag & 7) == 2;
    switch (tag & 7) {
      case 0: begin = at_; return ReadVarint(bytes_, at_, end_, length) && ((end = at_) <= end_);
      case 1: length = 8; break;
      case 5: length = 4; break;
      case 2:
        if (!ReadVarint(bytes_, at_, end_, length)) return false;
        break;
      default: return false;
    }
    if (length > static_cast<uint64_t>(end_ - at_)) return false;
    begin = at_;
    end = at_ = at_ + static_cast<int64_t>(length);
    return true;
  }
  int number = 0;
  bool is_bytes = false;
  int64_t begin = 0, end = 0;

 private:
  ByteWindow& bytes_;
  int64_t at_, end_;
};

// raw_data or packed float_data of the initializers called `names`.
std::map<std::string, Payload> InlinePayloads(ByteWindow& bytes, const std::set<std::string>& names) {
  constexpr int kGraph = 7, kInitializer = 5, kName = 8, kRawData = 9, kFloatData = 4;
  std::map<std::string, Payload> payloads;
  Fields model(bytes, 0, bytes.size());
  while (model.Next()) {
    if (model.number != kGraph || !model.is_bytes) continue;
    Fields graph(bytes, model.begin, model.end);
    while (graph.Next()) {
      if (graph.number != kInitializer || !graph.is_bytes) continue;
      std::string name;
      Payload payload{&bytes};
      Fields tensor(bytes, graph.begin, graph.end);
      while (tensor.Next()) {
        const int64_t size = tensor.end - tensor.begin;
        if (tensor.number == kName) name = std::string(bytes.At(tensor.begin, static_cast<size_t>(size)));
        const bool data = tensor.number == kRawData || (tensor.number == kFloatData && tensor.is_bytes);
        if (data) payload = {&bytes, tensor.begin, size};
      }
      if (payload.bytes > 0 && names.contains(name)) payloads.emplace(name, payload);
    }
  }
  return payloads;
}

using Files = std::map<std::string, std::unique_ptr<ByteWindow>>;

std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : std::string();
}

// Whether `file`, links followed, lies in the folder of the model, or of what the model's own name is a link to (a
// cache that keeps all contents in one folder).
bool StaysInside(const std::string& file, const std::string& folder, const std::string& model) {
  const std::string real = RealPath(file), own = RealPath(model);
  const std::string beside = own.substr(0, own.rfind('/') + 1);
  const std::string inside = RealPath(folder.empty() ? "." : folder) + "/";
  return !real.empty() && (real.rfind(inside, 0) == 0 || (!beside.empty() && real.rfind(beside, 0) == 0));
}

// In a file beside the model, opened once. Names and links that lead out of the model's folder are not followed.
std::optional<Payload> FindBeside(const onnx::TensorProto& tensor, int64_t bytes, const std::string& folder,
                                  const std::string& model, Files& files) {
  std::string location;
  int64_t offset = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset" && !absl::SimpleAtoi(entry.value(), &offset)) return std::nullopt;
  }
  if (location.empty() || location.front() == '/' || offset < 0) return std::nullopt;
  for (absl::string_view part : absl::StrSplit(location, '/')) {
    if (part == "..") return std::nullopt;
  }
  auto it = files.find(location);
  if (it == files.end()) {
    it = files.emplace(location, nullptr).first;
    if (StaysInside(folder + location, folder, model)) {
      auto window = ByteWindow::OverFile(folder + location);
      if (window.ok()) it->second = std::make_unique<ByteWindow>(*std::move(window));
    }
  }
  if (it->second == nullptr || bytes > it->second->size() || offset > it->second->size() - bytes) return std::nullopt;
  return Payload{it->second.get(), offset, bytes};
}

int64_t SizeOf(const onnx::TensorProto& tensor) {
  return NumBytes(Shape(Dims(tensor.dims().begin(), tensor.dims().end())), DTypeOf(tensor.data_type())).value_or(-1);
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

bool HasWeightsBeside(const onnx::GraphProto& graph, const std::string& path) {
  std::map<std::string, std::unique_ptr<ByteWindow>> files;
  return std::any_of(graph.initializer().begin(), graph.initializer().end(), [&](const onnx::TensorProto& tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return false;
    const int64_t size = SizeOf(tensor);
    return size > 0 && FindBeside(tensor, size, FolderOf(path), path, files).has_value();
  });
}

std::optional<uint64_t> ElementAt(const Payload& payload, int64_t index, int64_t width) {
  const std::string_view bytes = payload.file->At(payload.begin + index * width, static_cast<size_t>(width));
  if (bytes.size() != static_cast<size_t>(width)) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

StoredBytes::StoredBytes(const onnx::GraphProto& graph, const std::set<std::string>& names, ByteWindow& bytes,
                         const std::string& path)
    : payloads_(InlinePayloads(bytes, names)) {
  const std::string folder = FolderOf(path);
  for (const auto& tensor : graph.initializer()) {
    if (!names.contains(tensor.name())) continue;
    const int64_t size = SizeOf(tensor);
    if (size > 0 && tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      if (const auto found = FindBeside(tensor, size, folder, path, beside_)) payloads_[tensor.name()] = *found;
    }
    const auto it = payloads_.find(tensor.name());
    if (it != payloads_.end() && it->second.bytes != size) payloads_.erase(it);
  }
}

const Payload* StoredBytes::Find(const std::string& name) const {
  const auto it = payloads_.find(name);
  return it == payloads_.end() ? nullptr : &it->second;
}

}  // namespace onnx_mem
