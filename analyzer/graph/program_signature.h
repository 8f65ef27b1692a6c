// What the exported program says of the module's tensors, also of those that left the file: dynamo's exporter writes
// the signature of the program to the graph, and to each node the call of the framework that it became of.
//
//   # inputs                                                          {kParameter, "p_conv1_weight", "conv1.weight"}
//   p_conv1_weight: PARAMETER target='conv1.weight'              ->   {kBuffer, "b_bn1_running_mean", ...}
//   b_bn1_running_mean: BUFFER target='bn1.running_mean' persistent=True
//   x: USER_INPUT
//
//   %addmm : [num_users=1] = call_function[target=torch.ops.aten.addmm.default](args = (%p_fc_bias, %view_2), ...)
//                                                              ->   {"addmm", "aten.addmm.default", {"p_fc_bias", ...}}
//
// Sources: torch/export/graph_signature.py (ExportGraphSignature.__str__), torch/fx/node.py (Node.format_node).
#ifndef ONNX_MEM_ANALYZER_GRAPH_PROGRAM_SIGNATURE_H_
#define ONNX_MEM_ANALYZER_GRAPH_PROGRAM_SIGNATURE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

// Key of Node::metadata: the call of the framework, as the exporter wrote it.
inline constexpr std::string_view kFxNode = "pkg.torch.onnx.fx_node";

enum class SignatureKind : uint8_t {
  kParameter,
  kBuffer,    // registered with the module
  kConstant,  // CONSTANT_TENSOR: a tensor of the code, neither trained nor registered
};

// One tensor that the program reads.
struct SignatureEntry {
  SignatureKind kind = SignatureKind::kParameter;
  std::string placeholder;  // its name in the program and in the calls that read it: "p_conv1_weight"
  std::string target;       // its path in the module: "conv1.weight"
  bool persistent = true;   // of a buffer: whether the module's state holds it
};

class ProgramSignature {
 public:
  // Lines of another form are left out; a second entry of one placeholder is too.
  static ProgramSignature Parse(std::string_view text);

  bool empty() const { return entries_.empty(); }
  const std::vector<SignatureEntry>& entries() const { return entries_; }  // in the module's order
  // Null where there is none.
  const SignatureEntry* FindPlaceholder(std::string_view name) const { return Find(by_placeholder_, name); }
  const SignatureEntry* FindTarget(std::string_view name) const { return Find(by_target_, name); }

 private:
  using Index = std::map<std::string, size_t, std::less<>>;
  const SignatureEntry* Find(const Index& index, std::string_view name) const;

  std::vector<SignatureEntry> entries_;
  Index by_placeholder_, by_target_;
};

// A call of the exported program, as its graph spells it.
struct FxCall {
  std::string name;                 // of the result: "addmm"
  std::string target;               // "aten.addmm.default"
  std::vector<std::string> args;    // as written, without the % of a value: "p_fc_bias", "0.1", "[1, 1]"
  std::vector<std::string> kwargs;  // "approximate = tanh"
};

// The arguments, those of lists one by one: "x", "[%h, %c]" -> "x", "h", "c".
std::vector<std::string> ArgumentsAndListed(const FxCall& call);

// Without a name where `text` has another form.
FxCall ParseFxCall(std::string_view text);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_PROGRAM_SIGNATURE_H_
