#include "analyzer/onnx/read/slim_model.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {
namespace {

constexpr int kDeepest = 90;  // protobuf gives up at 100 nested messages
constexpr int64_t kLargestSlim = int64_t{1} << 30;
constexpr int64_t kLargestAttribute = 64 << 10;  // a longer string is an embedded blob (a compiled engine, say)

enum class Message : uint8_t { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction };
enum class Action : uint8_t {
  kDrop,
  kEmpty,    // kept without what it holds: that it was there
  kEnter,    // a message of the kind `to`
  kPayload,  // contents of a tensor: kept where all of it is small
  kBlob,     // bytes: kept where small
};

struct FieldRow {
  Message in;
  uint32_t number;  // of the field in onnx.proto
  Action action;
  Message to = Message::kModel;
};

// Fields that are not copied as they are.
constexpr auto kFields = std::to_array<FieldRow>({
    {Message::kModel, 6, Action::kDrop},                            // doc_string
    {Message::kModel, 7, Action::kEnter, Message::kGraph},          // graph
    {Message::kModel, 20, Action::kEmpty},                          // training_info: ONNX's own training, unused here
    {Message::kModel, 25, Action::kEnter, Message::kFunction},      // functions
    {Message::kGraph, 1, Action::kEnter, Message::kNode},           // node
    {Message::kGraph, 5, Action::kEnter, Message::kTensor},         // initializer
    {Message::kGraph, 10, Action::kDrop},                           // doc_string
    {Message::kGraph, 14, Action::kDrop},                           // quantization_annotation
    {Message::kGraph, 15, Action::kEnter, Message::kSparseTensor},  // sparse_initializer
    {Message::kNode, 5, Action::kEnter, Message::kAttribute},       // attribute
    {Message::kNode, 6, Action::kDrop},                             // doc_string
    {Message::kAttribute, 4, Action::kBlob},                        // s
    {Message::kAttribute, 5, Action::kEnter, Message::kTensor},     // t
    {Message::kAttribute, 6, Action::kEnter, Message::kGraph},      // g
    {Message::kAttribute, 9, Action::kBlob},                        // strings
    {Message::kAttribute, 10, Action::kEnter, Message::kTensor},    // tensors
    {Message::kAttribute, 11, Action::kEnter, Message::kGraph},     // graphs
    {Message::kAttribute, 13, Action::kDrop},                       // doc_string
    {Message::kAttribute, 22, Action::kEnter, Message::kSparseTensor},
    {Message::kAttribute, 23, Action::kEnter, Message::kSparseTensor},
    {Message::kTensor, 4, Action::kPayload},                        // float_data
    {Message::kTensor, 5, Action::kPayload},                        // int32_data
    {Message::kTensor, 6, Action::kPayload},                        // string_data
    {Message::kTensor, 7, Action::kPayload},                        // int64_data
    {Message::kTensor, 9, Action::kPayload},                        // raw_data
    {Message::kTensor, 10, Action::kPayload},                       // double_data
    {Message::kTensor, 11, Action::kPayload},                       // uint64_data
    {Message::kTensor, 12, Action::kDrop},                          // doc_string
    {Message::kSparseTensor, 1, Action::kEnter, Message::kTensor},  // values
    {Message::kSparseTensor, 2, Action::kEnter, Message::kTensor},  // indices
    {Message::kFunction, 7, Action::kEnter, Message::kNode},        // node
    {Message::kFunction, 8, Action::kDrop},                         // doc_string
    {Message::kFunction, 11, Action::kEnter, Message::kAttribute},  // attribute_proto
});

const FieldRow* Find(Message in, uint32_t number) {
  for (const FieldRow& row : kFields) {
    if (row.in == in && row.number == number) return &row;
  }
  return nullptr;
}

// One field of a message: [begin, end) with its tag, its contents from `body`.
struct Field {
  uint32_t number = 0;
  int wire_type = 0;  // 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes
  int64_t begin = 0;
  int64_t body = 0;
  int64_t end = 0;
  uint64_t varint = 0;
};

class Slimmer {
 public:
  Slimmer(ByteWindow& bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  absl::StatusOr<std::string> Run() {
    // A string that grows lies in memory twice. What is not written takes address space alone.
    constexpr int64_t kMostReserved = 32 << 20;
    out_.reserve(static_cast<size_t>(std::min(bytes_.size(), kMostReserved)));
    RETURN_IF_ERROR(CopyMessage(Message::kModel, 0, bytes_.size(), 0));
    if (!saw_graph_) return NotOnnx();
    return std::move(out_);
  }

 private:
  absl::Status CopyMessage(Message kind, int64_t begin, int64_t end, int depth);
  absl::Status CopyField(Message kind, const Field& field, int depth);
  absl::Status CopyTensor(int64_t begin, int64_t end);
  absl::Status EnterField(const FieldRow& row, const Field& field, int depth);
  absl::Status Copy(int64_t begin, int64_t end);
  absl::StatusOr<Field> ReadField(int64_t at, int64_t end, int depth);
  void AppendVarint(uint32_t value);

  absl::Status NotOnnx() const {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNotOnnx,
                       absl::StrCat("'", path_, "' is not an ONNX model"));
  }
  absl::Status Truncated(int64_t at) const {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTruncated,
                       absl::StrCat("'", path_, "' ends too early: protobuf message cut at byte ", at),
                       {"why: an interrupted download or copy is the usual cause (git-lfs? disk full?)"});
  }
  // `top`: the broken field is one of the model's own; without a graph before it, the file is something else.
  absl::Status Damaged(int64_t at, bool top) const {
    if (top && !saw_graph_) return NotOnnx();
    if (top && bytes_.size() - at < 12) return Truncated(bytes_.size());  // cut within a field's head
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kDamaged,
                       absl::StrCat("'", path_, "' is damaged: no valid protobuf field at byte ", at));
  }

  ByteWindow& bytes_;
  const std::string& path_;
  std::string out_;
  bool saw_version_ = false;
  bool saw_graph_ = false;
};

void Slimmer::AppendVarint(uint32_t value) {
  for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(0x80 | (value & 0x7f)));
  out_.push_back(static_cast<char>(value));
}

absl::StatusOr<Field> Slimmer::ReadField(int64_t at, int64_t end, int depth) {
  Field field{.begin = at};
  uint64_t tag = 0;
  if (!ReadVarint(bytes_, at, end, tag)) return Damaged(field.begin, depth == 0);
  field.number = static_cast<uint32_t>(tag >> 3);
  if (field.number == 0) return Damaged(field.begin, depth == 0);  // no message has such a field; zeros look like it
  field.wire_type = static_cast<int>(tag & 7);
  field.body = at;
  uint64_t length = 0;
  switch (field.wire_type) {
    case 0:
      if (!ReadVarint(bytes_, at, end, field.varint)) return Damaged(field.begin, depth == 0);
      field.end = at;
      return field;
    case 1: length = 8; break;
    case 5: length = 4; break;
    case 2:
      if (!ReadVarint(bytes_, at, end, length)) return Damaged(field.begin, depth == 0);
      field.body = at;
      break;
    default: return Damaged(field.begin, depth == 0);
  }
  if (length > static_cast<uint64_t>(end - at)) {
    // Only the outermost message ends where the file does; a field that leaves an inner one was never right.
    return depth == 0 && (saw_graph_ || saw_version_) ? Truncated(bytes_.size()) : Damaged(field.begin, depth == 0);
  }
  field.end = at + static_cast<int64_t>(length);
  return field;
}

absl::Status Slimmer::Copy(int64_t begin, int64_t end) {
  if (static_cast<int64_t>(out_.size()) + (end - begin) > kLargestSlim) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kDamaged,
                       absl::StrCat("'", path_, "' holds more than 1 GiB besides its weights"));
  }
  constexpr int64_t kPiece = 32 << 10;
  for (int64_t at = begin; at < end; at += kPiece) {
    const auto n = static_cast<size_t>(std::min(kPiece, end - at));
    const std::string_view piece = bytes_.At(at, n);
    if (piece.size() != n) return Truncated(at);
    out_.append(piece);
  }
  return absl::OkStatus();
}

absl::Status Slimmer::CopyMessage(Message kind, int64_t begin, int64_t end, int depth) {
  if (depth > kDeepest) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kDamaged,
                       absl::StrCat("'", path_, "' nests graphs too deeply"));
  }
  if (kind == Message::kTensor) return CopyTensor(begin, end);
  for (int64_t at = begin; at < end;) {
    ASSIGN_OR_RETURN(const Field field, ReadField(at, end, depth));
    RETURN_IF_ERROR(CopyField(kind, field, depth));
    at = field.end;
  }
  return absl::OkStatus();
}

absl::Status Slimmer::CopyField(Message kind, const Field& field, int depth) {
  const FieldRow* row = Find(kind, field.number);
  if (row == nullptr) {
    constexpr uint32_t kIrVersionField = 1;
    saw_version_ |= kind == Message::kModel && field.number == kIrVersionField && field.wire_type == 0;
    return Copy(field.begin, field.end);
  }
  if (field.wire_type != 2) return Damaged(field.begin, depth == 0);
  switch (row->action) {
    case Action::kDrop: return absl::OkStatus();
    case Action::kEmpty:
      AppendVarint(field.number << 3 | 2);
      AppendVarint(0);
      return absl::OkStatus();
    case Action::kBlob:
      return field.end - field.body > kLargestAttribute ? absl::OkStatus() : Copy(field.begin, field.end);
    case Action::kEnter: return EnterField(*row, field, depth);
    case Action::kPayload: break;
  }
  return absl::OkStatus();
}

absl::Status Slimmer::EnterField(const FieldRow& row, const Field& field, int depth) {
  saw_graph_ |= row.in == Message::kModel && row.to == Message::kGraph;
  // A message this short holds no payload that would be left out: most nodes are copied whole.
  if (field.end - field.body <= kKeptBytes) return Copy(field.begin, field.end);
  AppendVarint(field.number << 3 | 2);
  // The new length is not known yet: five bytes are set aside, a form that varint readers accept (0x80 continues).
  const size_t length_at = out_.size();
  out_.append("\x80\x80\x80\x80", 4).push_back('\0');
  RETURN_IF_ERROR(CopyMessage(row.to, field.body, field.end, depth + 1));
  size_t length = out_.size() - length_at - 5;
  for (int i = 0; i < 4; ++i, length >>= 7) out_[length_at + i] = static_cast<char>(0x80 | (length & 0x7f));
  out_[length_at + 4] = static_cast<char>(length);
  return absl::OkStatus();
}

absl::Status Slimmer::CopyTensor(int64_t begin, int64_t end) {
  constexpr uint32_t kDataTypeField = 2;
  constexpr auto kWideIntegers = std::to_array<uint64_t>({6, 7, 12, 13});  // INT32, INT64, UINT32, UINT64
  std::vector<std::pair<int64_t, int64_t>> payload;  // may come before the data type that decides about it
  int64_t payload_bytes = 0;
  bool wide_integers = false;
  for (int64_t at = begin; at < end;) {
    ASSIGN_OR_RETURN(const Field field, ReadField(at, end, /*depth=*/1));
    at = field.end;
    const FieldRow* row = Find(Message::kTensor, field.number);
    if (row == nullptr) RETURN_IF_ERROR(Copy(field.begin, field.end));
    if (field.number == kDataTypeField && field.wire_type == 0) {
      wide_integers = std::find(kWideIntegers.begin(), kWideIntegers.end(), field.varint) != kWideIntegers.end();
    }
    if (row == nullptr || row->action != Action::kPayload) continue;
    payload_bytes += field.end - field.body;
    if (payload_bytes > kKeptIntegerBytes) continue;
    if (!payload.empty() && payload.back().second == field.begin) {
      payload.back().second = field.end;  // unpacked fields: one entry per element
    } else {
      payload.emplace_back(field.begin, field.end);
    }
  }
  if (payload_bytes > (wide_integers ? kKeptIntegerBytes : kKeptBytes)) return absl::OkStatus();
  for (const auto& [from, to] : payload) RETURN_IF_ERROR(Copy(from, to));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> SlimModel(ByteWindow& bytes, const std::string& path) { return Slimmer(bytes, path).Run(); }

}  // namespace onnx_mem
