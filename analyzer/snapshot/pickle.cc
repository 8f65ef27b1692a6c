#include "analyzer/snapshot/pickle.h"

#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/status_macros.h"

namespace onnx_mem {

const std::vector<PickledValues::Id>& PickledValues::ItemsOf(Id id) const {
  static const std::vector<Id>& none = *new std::vector<Id>();
  const Kind kind = KindOf(id);
  if (kind != Kind::kList && kind != Kind::kDict) return none;
  return items_[static_cast<size_t>(values_[id].number)];
}

PickledValues::Id PickledValues::At(Id dict, std::string_view key) const {
  if (KindOf(dict) != Kind::kDict) return 0;
  const std::vector<Id>& items = ItemsOf(dict);
  for (size_t i = items.size() / 2; i > 0; --i) {
    if (KindOf(items[2 * i - 2]) == Kind::kText && TextOf(items[2 * i - 2]) == key) return items[2 * i - 1];
  }
  return 0;
}

// One step per opcode; each does what the row of its opcode in kOpcodes says.
class PickleMachine {
 public:
  using Id = PickledValues::Id;
  using Kind = PickledValues::Kind;

  PickleMachine(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {
    values_.bytes_ = bytes;
    for (int64_t number = 0; number < kSmall; ++number) values_.values_.push_back({Kind::kInt, 0, number});
  }

  absl::StatusOr<PickledValues> Run();

  absl::Status Skip(int count) { return Take(static_cast<uint64_t>(count)).status(); }
  absl::Status Mark(int) {
    marks_.push_back(stack_.size());
    return absl::OkStatus();
  }
  absl::Status Drop(int count) { return Pop(static_cast<size_t>(count)).status(); }
  absl::Status DropToMark(int) { return PopToMark().status(); }
  absl::Status PushNone(int) {
    stack_.push_back(0);
    return absl::OkStatus();
  }
  absl::Status PushSmall(int number) {  // the small numbers are there once
    stack_.push_back(static_cast<Id>(1 + number));
    return absl::OkStatus();
  }
  absl::Status PushByte(int);
  absl::Status PushUnsigned(int count);
  absl::Status PushSigned(int);
  absl::Status PushLong(int length_bytes);
  absl::Status PushReal(int);
  absl::Status PushText(int length_bytes);
  absl::Status PushEmpty(int kind) {
    PushContainer(static_cast<Kind>(kind), {});
    return absl::OkStatus();
  }
  absl::Status PushMarked(int kind) { return PushItems(PopToMark(), static_cast<Kind>(kind)); }
  absl::Status PushTuple(int count) { return PushItems(Pop(static_cast<size_t>(count)), Kind::kList); }
  absl::Status ExtendList(int count) { return Extend(Kind::kList, count == 0 ? PopToMark() : Pop(1)); }
  absl::Status ExtendDict(int count) { return Extend(Kind::kDict, count == 0 ? PopToMark() : Pop(2)); }
  absl::Status Memoize(int) { return Remember(memo_.size()); }
  absl::Status Put(int count);
  absl::Status Get(int count);

 private:
  static constexpr int64_t kSmall = 256;
  static constexpr Id kNothing = std::numeric_limits<Id>::max();

  absl::Status Bad(std::string_view what) const;
  absl::StatusOr<std::string_view> Take(uint64_t count);
  absl::StatusOr<uint64_t> Little(int count);
  absl::StatusOr<std::vector<Id>> PopToMark();
  absl::StatusOr<std::vector<Id>> Pop(size_t count);
  absl::Status PushItems(absl::StatusOr<std::vector<Id>> items, Kind kind);
  absl::Status Extend(Kind kind, absl::StatusOr<std::vector<Id>> items);
  absl::Status Remember(uint64_t index);

  void Push(PickledValues::Value value) {
    stack_.push_back(static_cast<Id>(values_.values_.size()));
    values_.values_.push_back(value);
  }
  void PushContainer(Kind kind, std::vector<Id> items) {
    Push({kind, 0, static_cast<int64_t>(values_.items_.size())});
    values_.items_.push_back(std::move(items));
  }

  std::string_view bytes_;
  const std::string& path_;
  size_t at_ = 0;
  PickledValues values_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::vector<Id> memo_;
};

namespace {

constexpr int kListKind = static_cast<int>(PickledValues::Kind::kList);
constexpr int kDictKind = static_cast<int>(PickledValues::Kind::kDict);

struct OpcodeRow {
  unsigned char opcode;
  absl::Status (PickleMachine::*run)(int);
  int argument;
};

constexpr auto kOpcodes = std::to_array<OpcodeRow>({
#define ONNX_MEM_OPCODE(opcode, does, argument) {opcode, &PickleMachine::does, argument},
#include "analyzer/snapshot/pickle_opcodes.inc"
});

constexpr std::array<const OpcodeRow*, 256> RowsByOpcode() {
  std::array<const OpcodeRow*, 256> rows{};
  for (const OpcodeRow& row : kOpcodes) rows[row.opcode] = &row;
  return rows;
}
constexpr std::array<const OpcodeRow*, 256> kRowOf = RowsByOpcode();

}  // namespace

absl::StatusOr<PickledValues> PickleMachine::Run() {
  while (true) {
    if (at_ >= bytes_.size()) return Bad("ends in the middle");
    const char opcode = bytes_[at_++];
    if (opcode == '.') break;  // STOP
    const OpcodeRow* row = kRowOf[static_cast<unsigned char>(opcode)];
    if (row == nullptr) return Bad("holds objects or code, not plain values alone: it was not read");
    RETURN_IF_ERROR((this->*row->run)(row->argument));
    if (values_.values_.size() >= std::numeric_limits<Id>::max() - 1) return Bad("has too many values");
  }
  if (stack_.size() != 1 || !marks_.empty()) return Bad("leaves more than one value");
  values_.root_ = stack_.back();
  return std::move(values_);
}

absl::Status PickleMachine::Bad(std::string_view what) const {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPickle,
                     absl::StrFormat("'%s' %s (at byte %d)", path_, what, at_),
                     {"expected: a file of torch.cuda.memory._dump_snapshot"});
}

absl::StatusOr<std::string_view> PickleMachine::Take(uint64_t count) {
  if (count > bytes_.size() - at_) return Bad("ends in the middle");
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

absl::StatusOr<uint64_t> PickleMachine::Little(int count) {
  ASSIGN_OR_RETURN(const std::string_view taken, Take(static_cast<uint64_t>(count)));
  uint64_t number = 0;
  for (int i = count - 1; i >= 0; --i) {
    number = number << 8 | static_cast<unsigned char>(taken[static_cast<size_t>(i)]);
  }
  return number;
}

absl::Status PickleMachine::PushByte(int) {
  ASSIGN_OR_RETURN(const uint64_t number, Little(1));
  return PushSmall(static_cast<int>(number));
}

absl::Status PickleMachine::PushUnsigned(int count) {
  ASSIGN_OR_RETURN(const uint64_t number, Little(count));
  Push({Kind::kInt, 0, static_cast<int64_t>(number)});
  return absl::OkStatus();
}

absl::Status PickleMachine::PushSigned(int) {
  ASSIGN_OR_RETURN(const uint64_t number, Little(4));
  Push({Kind::kInt, 0, static_cast<int32_t>(static_cast<uint32_t>(number))});
  return absl::OkStatus();
}

// Two's complement of up to 8 bytes; None for longer ones, which no size or address is.
absl::Status PickleMachine::PushLong(int length_bytes) {
  ASSIGN_OR_RETURN(const uint64_t count, Little(length_bytes));
  ASSIGN_OR_RETURN(const std::string_view taken, Take(count));
  if (taken.size() > 8) return PushNone(0);
  uint64_t number = taken.empty() || static_cast<unsigned char>(taken.back()) < 0x80 ? 0 : ~uint64_t{0};
  for (size_t i = taken.size(); i > 0; --i) number = number << 8 | static_cast<unsigned char>(taken[i - 1]);
  Push({Kind::kInt, 0, static_cast<int64_t>(number)});
  return absl::OkStatus();
}

absl::Status PickleMachine::PushReal(int) {
  RETURN_IF_ERROR(Take(8).status());
  Push({Kind::kReal, 0, 0});
  return absl::OkStatus();
}

absl::Status PickleMachine::PushText(int length_bytes) {
  ASSIGN_OR_RETURN(const uint64_t length, Little(length_bytes));
  const auto place = static_cast<int64_t>(at_);
  RETURN_IF_ERROR(Take(length).status());
  if (length > std::numeric_limits<uint32_t>::max()) return Bad("has a text that is too long");
  Push({Kind::kText, static_cast<uint32_t>(length), place});
  return absl::OkStatus();
}

// Values that were pushed since the last mark, or the last `count` ones.
absl::StatusOr<std::vector<PickledValues::Id>> PickleMachine::PopToMark() {
  if (marks_.empty() || marks_.back() > stack_.size()) return Bad("has no mark where one is needed");
  std::vector<Id> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  return items;
}

absl::StatusOr<std::vector<PickledValues::Id>> PickleMachine::Pop(size_t count) {
  if (stack_.size() < (marks_.empty() ? 0 : marks_.back()) + count) return Bad("takes more values than it has made");
  std::vector<Id> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return items;
}

absl::Status PickleMachine::PushItems(absl::StatusOr<std::vector<Id>> items, Kind kind) {
  RETURN_IF_ERROR(items.status());
  if (kind == Kind::kDict && items->size() % 2 != 0) return Bad("has a key without a value");
  PushContainer(kind, *std::move(items));
  return absl::OkStatus();
}

absl::Status PickleMachine::Extend(Kind kind, absl::StatusOr<std::vector<Id>> items) {
  RETURN_IF_ERROR(items.status());
  if (stack_.empty() || values_.KindOf(stack_.back()) != kind) return Bad("adds to what is no list or dict");
  if (kind == Kind::kDict && items->size() % 2 != 0) return Bad("has a key without a value");
  std::vector<Id>& into = values_.items_[static_cast<size_t>(values_.values_[stack_.back()].number)];
  if (into.empty()) {
    into = *std::move(items);
  } else {
    into.insert(into.end(), items->begin(), items->end());
  }
  return absl::OkStatus();
}

// Picklers number what they keep from 0 on, so that a number beyond the bytes read so far is no pickler's.
absl::Status PickleMachine::Remember(uint64_t index) {
  if (stack_.empty()) return Bad("takes more values than it has made");
  if (index >= at_) return Bad("keeps a value under a number that is too large");
  if (index >= memo_.size()) memo_.resize(index + 1, kNothing);
  memo_[index] = stack_.back();
  return absl::OkStatus();
}

absl::Status PickleMachine::Put(int count) {
  ASSIGN_OR_RETURN(const uint64_t index, Little(count));
  return Remember(index);
}

absl::Status PickleMachine::Get(int count) {
  ASSIGN_OR_RETURN(const uint64_t index, Little(count));
  if (index >= memo_.size() || memo_[index] == kNothing) return Bad("reads what it has not kept");
  stack_.push_back(memo_[index]);
  return absl::OkStatus();
}

absl::StatusOr<PickledValues> ReadPickle(std::string_view bytes, const std::string& path) {
  return PickleMachine(bytes, path).Run();
}

}  // namespace onnx_mem
