// Copies of nodes under new names: what inlining a function and unrolling a loop share. Names of values are unique in a
// model once all of its graphs have been read.
#ifndef ONNX_MEM_ANALYZER_ONNX_LOAD_RENAMING_H_
#define ONNX_MEM_ANALYZER_ONNX_LOAD_RENAMING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "onnx/onnx_pb.h"

namespace onnx_mem {

using ValueNames = absl::flat_hash_map<std::string, std::string>;  // old -> new; others stay as they are
using AttributesByName = absl::flat_hash_map<std::string, const onnx::AttributeProto*>;

class Renamer {
 public:
  // Everything that `graph` and its bodies name is taken.
  explicit Renamer(const onnx::GraphProto& graph) { Collect(graph); }

  // `name`, or the first of name_1, name_2 ... that is free. It is taken then.
  std::string Fresh(const std::string& name);

  // `names` is as it was when this returns. Renames what `node` reads and gives, in its bodies too, whose own values
  // get fresh names. An attribute that refers to one of a function's is replaced by that of `attributes`, or left out
  // where none is given.
  void Rename(onnx::NodeProto& node, ValueNames& names, const AttributesByName& attributes = {});

 private:
  void Collect(const onnx::GraphProto& graph);
  // Names that a body gave anew, with those they had around it: `names` is one map for all of them.
  using Shadowed = std::vector<std::pair<std::string, std::optional<std::string>>>;
  void RenameBody(onnx::GraphProto& body, ValueNames& names, const AttributesByName& attributes);

  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int64_t> last_;  // name -> the number behind it that was given out last
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_LOAD_RENAMING_H_
