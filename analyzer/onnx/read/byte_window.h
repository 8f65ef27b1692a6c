// A file's bytes, read through a small window (pread) instead of mapped: weights that are skipped are never paged in,
// so that a model of many GB is read in a few MB, and a file that shrinks meanwhile gives a short read, not SIGBUS.
// (mmap was measured to hold up to 255 MB resident for a 1 GB model: the kernel maps page-cache pages around a fault.)
#ifndef ONNX_MEM_ANALYZER_ONNX_READ_BYTE_WINDOW_H_
#define ONNX_MEM_ANALYZER_ONNX_READ_BYTE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace onnx_mem {

class ByteWindow {
 public:
  // Opens a regular file. Errors: those of open(2), with codes not-found, not-onnx (a folder, a device), unreadable.
  static absl::StatusOr<ByteWindow> OverFile(const std::string& path);
  // The same over bytes in memory, which must outlive the window.
  static ByteWindow OverMemory(std::string_view bytes);

  ByteWindow(ByteWindow&& other) noexcept;
  ByteWindow& operator=(ByteWindow&&) = delete;
  ~ByteWindow();

  int64_t size() const { return size_; }

  // The bytes [offset, offset + n), valid until the next call; empty where they do not exist (any more).
  std::string_view At(int64_t offset, size_t n) {
    if (offset >= begin_ && n <= length_ && static_cast<size_t>(offset - begin_) <= length_ - n) {
      return {data_ + (offset - begin_), n};
    }
    return Refill(offset, n);
  }

 private:
  ByteWindow() = default;
  std::string_view Refill(int64_t offset, size_t n);

  int fd_ = -1;
  int64_t size_ = 0;
  const char* data_ = nullptr;  // what is at hand: length_ bytes from offset begin_
  int64_t begin_ = 0;
  size_t length_ = 0;
  std::vector<char> buffer_;
  size_t read_ahead_ = 0;  // grows while the reads are contiguous, shrinks after a jump over a payload
};

// A number of protobuf's variable length at `at`, which ends before `end`; moves `at` behind it. False where there is
// none.
bool ReadVarint(ByteWindow& window, int64_t& at, int64_t end, uint64_t& value);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_ONNX_READ_BYTE_WINDOW_H_
