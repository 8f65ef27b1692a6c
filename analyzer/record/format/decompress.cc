#include "analyzer/record/format/decompress.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem::record {
namespace {

constexpr absl::string_view kZlib = "zlib:";

absl::Status Broken(std::string_view what) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kBadRecord,
                     absl::StrCat("the record is packed as zlib, but ", absl::string_view(what.data(), what.size())));
}

absl::Status LargerThanAny(int64_t most_bytes) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kTooLarge,
                     absl::StrCat("the text of the record is larger than ", most_bytes >> 20, " MiB"),
                     {"way out: a record made with smaller inputs (onnx_mem.export), or the model without its record"});
}

// Ends the stream whichever way the function is left.
class Inflater {
 public:
  explicit Inflater(std::string& bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    ok_ = inflateInit(&stream_) == Z_OK;
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ok() const { return ok_; }
  // Fills some of `room`; the bytes written, or -1 where the stream is broken.
  int64_t Fill(char* room, size_t size) {
    stream_.next_out = reinterpret_cast<Bytef*>(room);
    stream_.avail_out = static_cast<uInt>(size);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    done_ = result == Z_STREAM_END;
    return result == Z_OK || done_ ? static_cast<int64_t>(size - stream_.avail_out) : -1;
  }
  bool done() const { return done_; }

 private:
  z_stream stream_ = {};
  bool ok_ = false;
  bool done_ = false;
};

}  // namespace

absl::StatusOr<std::string> Unpack(std::string_view packed) {
  const absl::string_view text(packed.data(), packed.size());
  if (static_cast<int64_t>(text.size()) > kMostTextBytes) return LargerThanAny(kMostTextBytes);
  if (!absl::StartsWith(text, kZlib)) return std::string(packed);
  std::string bytes, result;
  if (!absl::Base64Unescape(text.substr(kZlib.size()), &bytes)) return Broken("its base64 is damaged");
  Inflater inflater(bytes);
  if (!inflater.ok()) return Broken("cannot be unpacked here");
  constexpr size_t kRoom = 256 << 10;
  const int64_t most_bytes = std::min(MostTextBytes(static_cast<int64_t>(text.size())), kMostTextBytes);
  while (!inflater.done()) {
    const size_t size = result.size();
    if (static_cast<int64_t>(size + kRoom) > most_bytes) return LargerThanAny(most_bytes);
    result.resize(size + kRoom);
    const int64_t filled = inflater.Fill(result.data() + size, kRoom);
    if (filled < 0 || (filled == 0 && !inflater.done())) return Broken("its bytes are damaged");
    result.resize(size + static_cast<size_t>(filled));
  }
  return result;
}

}  // namespace onnx_mem::record
