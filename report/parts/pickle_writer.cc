// Opcodes: Lib/pickletools.py of CPython.
#include "report/parts/pickle_writer.h"

#include <limits>
#include <utility>

namespace onnx_mem {
namespace {

// An even number, so that a batch of a dict ends behind a value. Viewers spread a batch as arguments of one call.
constexpr int64_t kBatch = 1000;

}  // namespace

void PickleWriter::Little(uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) text_ += static_cast<char>((number >> (8 * i)) & 0xff);
}

PickleWriter& PickleWriter::Done() {
  if (open_.empty()) return *this;
  Open& open = open_.back();
  if (++open.items < kBatch) return *this;
  text_ += open.dict ? "u(" : "e(";  // SETITEMS or APPENDS, MARK
  open.items = 0;
  return *this;
}

PickleWriter& PickleWriter::BeginDict() {
  text_ += "}(";  // EMPTY_DICT, MARK
  open_.push_back({.dict = true});
  return *this;
}

PickleWriter& PickleWriter::EndDict() {
  text_ += 'u';
  open_.pop_back();
  return Done();
}

PickleWriter& PickleWriter::BeginList() {
  text_ += "](";
  open_.push_back({.dict = false});
  return *this;
}

PickleWriter& PickleWriter::EndList() {
  text_ += 'e';
  open_.pop_back();
  return Done();
}

PickleWriter& PickleWriter::Int(int64_t number) {
  if (number >= 0 && number < 256) {
    text_ += 'K';  // BININT1
    Little(static_cast<uint64_t>(number), 1);
  } else if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max()) {
    text_ += 'J';  // BININT
    Little(static_cast<uint64_t>(number), 4);
  } else {
    text_ += "\x8a\x08";  // LONG1
    Little(static_cast<uint64_t>(number), 8);
  }
  return Done();
}

PickleWriter& PickleWriter::Bool(bool value) {
  text_ += value ? '\x88' : '\x89';
  return Done();
}

PickleWriter& PickleWriter::String(std::string_view text) {
  const auto [entry, is_new] = memo_.try_emplace(std::string(text), static_cast<uint32_t>(memo_.size()));
  if (is_new) {
    text_ += 'X';  // BINUNICODE
    Little(text.size(), 4);
    text_ += text;
    text_ += 'r';  // LONG_BINPUT
  } else {
    text_ += 'j';  // LONG_BINGET
  }
  Little(entry->second, 4);
  return Done();
}

std::string PickleWriter::Take() {
  text_ += '.';
  return std::exchange(text_, "\x80\x02");
}

}  // namespace onnx_mem
