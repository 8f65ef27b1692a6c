// What a running model did: the operators below autograd in order, when Python releases each value, module
// calls, spans of user code. A plain copy of the text (docs/reference/record-format.md has the format), sizes not yet
// numbers.
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_RECORD_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_RECORD_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/graph/dtype.h"
#include "analyzer/record/format/size.h"

namespace onnx_mem::record {

// A value's number within its program: %7.
using ValueNumber = int32_t;

struct ValueType {
  DType dtype = DType::kUnknown;
  std::vector<Size> dims = {};
  std::optional<std::vector<Size>> strides = {};  // in elements; nullopt: row-major
  Size offset = {};                               // of the storage, in elements
  std::string device = {};                        // "" for the accelerator; else "cpu"
  ValueNumber root = -1;                          // the first value on the storage that this one shares
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

struct Value {
  enum class Kind : uint8_t { kParameter, kBuffer, kInput, kConstant, kMade, kGradient };
  Kind kind = Kind::kMade;
  std::string name = {};  // of parameters, buffers and inputs
  ValueType type = {};
  bool frozen = false;                 // of a parameter
  std::vector<std::string> tied = {};  // other names of a parameter or an input
  bool defined = false;
  friend bool operator==(const Value&, const Value&) = default;
};

struct Argument {
  enum class Kind : uint8_t { kNone, kValue, kSize, kFloat, kBool, kString, kDType, kDevice, kEnum, kList };
  Kind kind = Kind::kNone;
  ValueNumber value = -1;
  Size size = {};
  double number = 0;
  bool flag = false;
  DType dtype = DType::kUnknown;
  std::string text = {};  // a string (as JSON writes it), a device or an enum; of a number, as it was written
  std::vector<Argument> items = {};
  friend bool operator==(const Argument&, const Argument&) = default;
};

struct Line {
  enum class Kind : uint8_t {
    kOp,           // values = op arguments options drop drops
    kCall,         // name: the module's path
    kReturn,       // of the last call
    kGrad,         // flag: on
    kLeaf,         // values[0]
    kFunction,     // name: the class
    kEndFunction,  // values: saved; drops: held by the context
    kBackward,     // pairs: gradient of output
    kEndBackward,  // pairs: gradient to input
    kCheckpoint,   // values: arguments; flag: reentrant
    kEndCheckpoint,
  };
  Kind kind = Kind::kOp;
  int64_t number = 0;  // in the text, from 1
  std::string name = {};
  std::vector<ValueNumber> values = {};
  std::vector<bool> made = {};  // of an operator: which of `values` are new
  std::vector<Argument> arguments = {};
  std::vector<std::pair<std::string, Argument>> options = {};
  std::vector<ValueNumber> drops = {};
  std::vector<std::pair<ValueNumber, ValueNumber>> pairs = {};
  bool flag = false;
};

struct Program {
  std::vector<Value> values = {};
  std::vector<Line> lines = {};
  std::vector<std::optional<ValueNumber>> returned = {};
  ValueNumber loss = -1;  // the model's own, where it computes one
  std::string tree = {};  // of what it returns, JSON
};

// One call of a whole training step that its author wrote: what ran, and which storages were alive meanwhile.
struct CountedStep {
  struct Operator {
    std::string name = {};
    std::string phase = {};  // "forward", "backward", "optimizer"
    std::string module = {};
  };
  struct Storage {
    std::string category = {};  // as reports call it
    Size bytes = {};
    int32_t begin = 0;  // operators, by their order
    int32_t end = 0;    // one past the last at which it is alive
    std::string module = {};
    std::string name = {};
    bool on_cpu = false;  // counted, but none of the device's allocator: how often an optimizer has stepped
  };
  std::vector<Operator> operators = {};
  std::vector<Storage> storages = {};  // in order of allocation
  int64_t parameters = 0;              // how many numbers they are
};

// The model in one precision, or at one batch, where it runs other operators than at the others.
struct Variant {
  std::string precision = {};  // "bf16", "fp16": converted; "amp-bf16", "amp-fp16": under autocast; "": as it stands
  int64_t batch = 0;           // 0: all that have no program of their own
  std::optional<Program> eval = {};
  std::optional<Program> train = {};
};

inline constexpr int64_t kMostLength = int64_t{1} << 31;

// A size beside the batch that the record's sizes are functions of. It holds at length + k * step, and was watched from
// first to last.
struct FreeSize {
  std::string name = {};  // "seq"
  int64_t length = 0;     // of the example inputs
  int64_t step = 1;
  int64_t first = 0, last = 0;
};

// The batches at which the model takes the path that was recorded.
struct BatchRange {
  int64_t first = 1;
  int64_t last = std::numeric_limits<int64_t>::max();
  bool Has(int64_t batch) const { return first <= batch && batch <= last; }
};

struct Record {
  std::string torch_version = {};
  BatchRange batches = {};
  std::optional<FreeSize> free = {};
  std::optional<Program> eval = {};
  std::optional<Program> train = {};
  std::vector<Variant> variants = {};  // in other precisions, at batch 1
  // A step in place of a forward: its first call, in which state appears, and each later one. Both or neither.
  std::optional<CountedStep> first_call = {};
  std::optional<CountedStep> later_call = {};
};

// Of its main program.
inline int64_t NumOperators(const Record& record) {
  if (record.later_call) return static_cast<int64_t>(record.later_call->operators.size());
  int64_t count = 0;
  for (const Line& line : (record.train ? *record.train : *record.eval).lines) count += line.kind == Line::Kind::kOp;
  return count;
}

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_RECORD_H_
