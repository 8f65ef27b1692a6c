// A line of the Python source that a node came from, as far as one line tells: which names it binds, which it reads.
// dynamo's exporter writes the lines of all forward() functions around each node into the file.
//
//   out += identity                    augmented assignment, target "out", reads "out" and "identity"
//   q, k = self.proj(x).chunk(2, -1)   assignment, targets "q" and "k", reads "x", two places that compute something
//   return F.relu(self.bn(x))          return, reads "x"
//   features.append(self.conv(x))      append to "features"
//   self.bias(x), mask=mask,           part of a statement that began on another line: tells nothing
#ifndef ONNX_MEM_ANALYZER_EXPORTED_SOURCE_LINE_H_
#define ONNX_MEM_ANALYZER_EXPORTED_SOURCE_LINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

enum class StatementKind : uint8_t {
  kUnknown,    // a part of a statement, or one that is not distinguished (if, for, with, assert, a call alone)
  kAssign,     // targets = value
  kAugmented,  // target op= value
  kReturn,
  kAppend,  // targets[0].append(value)
};

struct Statement {
  StatementKind kind = StatementKind::kUnknown;
  bool whole = false;                // the line ends the statement: its brackets are closed
  std::vector<std::string> targets;  // in order; "" for what is no plain name (self.x, x[0]); for lists their name;
                                     // with kUnknown: names that the line may bind
  std::vector<std::string> reads;    // variables of the value, each once: no callees, keywords or modules
  std::vector<std::string> pops;     // of `reads`, lists that it takes an element out of: h = cat(h, skips.pop())
  int places = 0;                    // calls, subscripts and binary operators in the value
  bool close_set = false;            // x=f(y), which is a keyword argument if a statement is open before it
  bool several = false;              // return a, b: more than one value, not one call of several arguments
  char augmented_op = 0;             // '+' for +=; 0 for operators of more than one character
};

// The statement on `text`, a line without its indentation.
Statement ParseStatement(std::string_view text);

struct SourceLine {
  std::string file;
  int64_t line = 0;
  std::string text;  // without indentation
  Statement statement;
};

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_EXPORTED_SOURCE_LINE_H_
