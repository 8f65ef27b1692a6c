// Plain values -> a Python pickle (protocol 2): dicts, lists, strings, integers, booleans. What viewers that unpickle
// in JavaScript understand too: no memo of containers, strings of at most 4 GiB, appended in batches.
//
//   PickleWriter pickle;
//   pickle.BeginDict().String("size").Int(512).EndDict();
//   pickle.Take();   // b'\x80\x02}(X\x04\x00\x00\x00sizeq\x00M\x00\x02u.'
#ifndef ONNX_MEM_REPORT_PARTS_PICKLE_WRITER_H_
#define ONNX_MEM_REPORT_PARTS_PICKLE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace onnx_mem {

class PickleWriter {
 public:
  PickleWriter() : text_("\x80\x02") {}

  // Between them keys, which are strings, and values in turn.
  PickleWriter& BeginDict();
  PickleWriter& EndDict();
  PickleWriter& BeginList();
  PickleWriter& EndList();
  PickleWriter& Int(int64_t number);
  PickleWriter& Bool(bool value);
  PickleWriter& String(std::string_view text);  // UTF-8; each text stands in the pickle once

  // Everything that was begun must have ended.
  std::string Take();

 private:
  struct Open {
    bool dict = false;
    int64_t items = 0;  // since the last batch
  };
  void Little(uint64_t number, int bytes);
  PickleWriter& Done();  // a value is complete: a part of what is open

  std::string text_;
  std::vector<Open> open_;
  absl::flat_hash_map<std::string, uint32_t> memo_;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_PARTS_PICKLE_WRITER_H_
