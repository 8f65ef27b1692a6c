// Where the contents of stored tensors lie: in the model's file, which is read without them, or in one beside it.
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_STORED_BYTES_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_STORED_BYTES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/onnx/read/byte_window.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace onnx_mem {

// Where a tensor's elements lie, row after row.
struct Payload {
  ByteWindow* file = nullptr;
  int64_t begin = 0;
  int64_t bytes = 0;
};

// The element `index` of `width` bytes, as an integer of the same bits; nullopt if it cannot be read.
std::optional<uint64_t> ElementAt(const Payload& payload, int64_t index, int64_t width);

// Whether a weight of `graph`, the model at `path`, lies in a file beside it that is there.
bool HasWeightsBeside(const onnx::GraphProto& graph, const std::string& path);

// The contents of initializers, by name; those that are not there, or not of the size that their shapes say, are left
// out.
class StoredBytes {
 public:
  // `bytes`: the whole file of `path`, of which `graph` was read without its weights. Must outlive this.
  StoredBytes(const onnx::GraphProto& graph, const std::set<std::string>& names, ByteWindow& bytes,
              const std::string& path);
  // nullptr if there are none.
  const Payload* Find(const std::string& name) const;

 private:
  std::map<std::string, std::unique_ptr<ByteWindow>> beside_;  // files of weights, by name
  std::map<std::string, Payload> payloads_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_STORED_BYTES_H_
