// Opcodes: Lib/pickletools.py of CPython, protocols 2 to 5.
#include "cli/files/pickle_reader.h"

#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
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

class PickleMachine {
 public:
  using Id = PickledValues::Id;
  using Kind = PickledValues::Kind;

  PickleMachine(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  absl::StatusOr<PickledValues> Run() {
    while (true) {
      if (at_ >= bytes_.size()) return Bad("ends in the middle");
      const char opcode = bytes_[at_++];
      if (opcode == '.') break;  // STOP
      RETURN_IF_ERROR(Step(opcode));
      if (values_.values_.size() >= std::numeric_limits<Id>::max() - 1) return Bad("has too many values");
    }
    if (stack_.size() != 1 || !marks_.empty()) return Bad("leaves more than one value");
    values_.root_ = stack_.back();
    return std::move(values_);
  }

 private:
  absl::Status Bad(std::string_view what) const {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadPickle,
                       absl::StrFormat("'%s' %s (at byte %d)", path_, what, at_),
                       {"expected: a file of torch.cuda.memory._dump_snapshot"});
  }

  absl::StatusOr<std::string_view> Take(uint64_t count) {
    if (count > bytes_.size() - at_) return Bad("ends in the middle");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }

  absl::StatusOr<uint64_t> Little(int count) {
    ASSIGN_OR_RETURN(const std::string_view taken, Take(static_cast<uint64_t>(count)));
    uint64_t number = 0;
    for (int i = count - 1; i >= 0; --i) {
      number = number << 8 | static_cast<unsigned char>(taken[static_cast<size_t>(i)]);
    }
    return number;
  }

  // Two's complement of up to 8 bytes; nullopt-like None for longer ones, which no size or address is.
  absl::Status PushLong(uint64_t count) {
    ASSIGN_OR_RETURN(const std::string_view taken, Take(count));
    if (taken.size() > 8) {
      Push({Kind::kNone, 0, {}});
      return absl::OkStatus();
    }
    uint64_t number = taken.empty() || static_cast<unsigned char>(taken.back()) < 0x80 ? 0 : ~uint64_t{0};
    for (size_t i = taken.size(); i > 0; --i) number = number << 8 | static_cast<unsigned char>(taken[i - 1]);
    Push({Kind::kInt, static_cast<int64_t>(number), {}});
    return absl::OkStatus();
  }

  absl::Status PushText(int length_bytes) {
    ASSIGN_OR_RETURN(const uint64_t length, Little(length_bytes));
    ASSIGN_OR_RETURN(const std::string_view text, Take(length));
    Push({Kind::kText, 0, text});
    return absl::OkStatus();
  }

  absl::Status PushInt(int count, bool is_signed = false) {
    ASSIGN_OR_RETURN(const uint64_t number, Little(count));
    const auto value = is_signed ? static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(number)))
                                 : static_cast<int64_t>(number);
    Push({Kind::kInt, value, {}});
    return absl::OkStatus();
  }

  void Push(PickledValues::Value value) {
    stack_.push_back(static_cast<Id>(values_.values_.size()));
    values_.values_.push_back(value);
  }

  void PushContainer(Kind kind, std::vector<Id> items) {
    Push({kind, static_cast<int64_t>(values_.items_.size()), {}});
    values_.items_.push_back(std::move(items));
  }

  // Values that were pushed since the last mark, or the last `count` ones.
  absl::StatusOr<std::vector<Id>> PopToMark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return Bad("has no mark where one is needed");
    std::vector<Id> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  absl::StatusOr<std::vector<Id>> Pop(size_t count) {
    if (stack_.size() < (marks_.empty() ? 0 : marks_.back()) + count) return Bad("takes more values than it has made");
    std::vector<Id> items(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }

  absl::Status PushTuple(absl::StatusOr<std::vector<Id>> items, Kind kind = Kind::kList) {
    RETURN_IF_ERROR(items.status());
    if (kind == Kind::kDict && items->size() % 2 != 0) return Bad("has a key without a value");
    PushContainer(kind, *std::move(items));
    return absl::OkStatus();
  }

  absl::Status Extend(Kind kind, absl::StatusOr<std::vector<Id>> items) {
    RETURN_IF_ERROR(items.status());
    if (stack_.empty() || values_.KindOf(stack_.back()) != kind) return Bad("adds to what is no list or dict");
    if (kind == Kind::kDict && items->size() % 2 != 0) return Bad("has a key without a value");
    std::vector<Id>& into = values_.items_[static_cast<size_t>(values_.values_[stack_.back()].number)];
    into.insert(into.end(), items->begin(), items->end());
    return absl::OkStatus();
  }

  absl::Status Remember(uint64_t index) {
    if (stack_.empty()) return Bad("takes more values than it has made");
    memo_[index] = stack_.back();
    return absl::OkStatus();
  }
  absl::Status Recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) return Bad("reads what it has not kept");
    stack_.push_back(found->second);
    return absl::OkStatus();
  }
  absl::Status RememberAt(int count) {
    ASSIGN_OR_RETURN(const uint64_t index, Little(count));
    return Remember(index);
  }
  absl::Status RecallFrom(int count) {
    ASSIGN_OR_RETURN(const uint64_t index, Little(count));
    return Recall(index);
  }

  absl::Status Step(char opcode) {
    switch (static_cast<unsigned char>(opcode)) {
      case 0x80: return Take(1).status();                                  // PROTO
      case 0x95: return Take(8).status();                                  // FRAME
      case '(': marks_.push_back(stack_.size()); return absl::OkStatus();  // MARK
      case '0': return Pop(1).status();                                    // POP
      case '1': return PopToMark().status();                               // POP_MARK
      case 'N': Push({Kind::kNone, 0, {}}); return absl::OkStatus();
      case 0x88: Push({Kind::kInt, 1, {}}); return absl::OkStatus();  // NEWTRUE
      case 0x89: Push({Kind::kInt, 0, {}}); return absl::OkStatus();  // NEWFALSE
      case 'J': return PushInt(4, /*is_signed=*/true);                // BININT
      case 'K': return PushInt(1);                                    // BININT1
      case 'M': return PushInt(2);                                    // BININT2
      case 0x8a: {                                                    // LONG1
        ASSIGN_OR_RETURN(const uint64_t count, Little(1));
        return PushLong(count);
      }
      case 0x8b: {  // LONG4
        ASSIGN_OR_RETURN(const uint64_t count, Little(4));
        return PushLong(count);
      }
      case 'G':
        RETURN_IF_ERROR(Take(8).status());
        Push({Kind::kReal, 0, {}});
        return absl::OkStatus();                                          // BINFLOAT
      case 'X': return PushText(4);                                       // BINUNICODE
      case 0x8c: return PushText(1);                                      // SHORT_BINUNICODE
      case 0x8d: return PushText(8);                                      // BINUNICODE8
      case 'B': return PushText(4);                                       // BINBYTES
      case 'C': return PushText(1);                                       // SHORT_BINBYTES
      case 0x8e: return PushText(8);                                      // BINBYTES8
      case ']': PushContainer(Kind::kList, {}); return absl::OkStatus();  // EMPTY_LIST
      case ')': PushContainer(Kind::kList, {}); return absl::OkStatus();  // EMPTY_TUPLE
      case '}': PushContainer(Kind::kDict, {}); return absl::OkStatus();  // EMPTY_DICT
      case 't':
      case 'l': return PushTuple(PopToMark());               // TUPLE, LIST
      case 'd': return PushTuple(PopToMark(), Kind::kDict);  // DICT
      case 0x85: return PushTuple(Pop(1));                   // TUPLE1
      case 0x86: return PushTuple(Pop(2));                   // TUPLE2
      case 0x87: return PushTuple(Pop(3));                   // TUPLE3
      case 'a': return Extend(Kind::kList, Pop(1));          // APPEND
      case 'e': return Extend(Kind::kList, PopToMark());     // APPENDS
      case 's': return Extend(Kind::kDict, Pop(2));          // SETITEM
      case 'u': return Extend(Kind::kDict, PopToMark());     // SETITEMS
      case 'q': return RememberAt(1);                        // BINPUT
      case 'r': return RememberAt(4);                        // LONG_BINPUT
      case 0x94: return Remember(memo_.size());              // MEMOIZE
      case 'h': return RecallFrom(1);                        // BINGET
      case 'j': return RecallFrom(4);                        // LONG_BINGET
      default: break;
    }
    // GLOBAL, STACK_GLOBAL, REDUCE, BUILD, OBJ, INST, NEWOBJ, PERSID, EXT: they import and call.
    return Bad("holds objects or code, not plain values alone: it was not read");
  }

  std::string_view bytes_;
  const std::string& path_;
  size_t at_ = 0;
  PickledValues values_;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  absl::flat_hash_map<uint64_t, Id> memo_;
};

absl::StatusOr<PickledValues> ReadPickle(std::string_view bytes, const std::string& path) {
  return PickleMachine(bytes, path).Run();
}

}  // namespace onnx_mem
