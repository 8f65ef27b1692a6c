#include "analyzer/onnx/read/byte_window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/onnx/read/similar_files.h"

namespace onnx_mem {
namespace {

constexpr size_t kSmallestRead = 4 << 10;  // after a jump: the next header is a few hundred bytes
constexpr size_t kLargestRead = 64 << 10;

absl::Status CannotOpen(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    std::vector<std::string> details;
    if (std::string similar = SimilarFile(path); !similar.empty()) {
      details.push_back(absl::StrCat("did you mean: ", similar));
    }
    return ErrorStatus(absl::StatusCode::kNotFound, Code::kNotFound,
                       absl::StrCat("cannot open '", path, "': no such file"), std::move(details));
  }
  return ErrorStatus(absl::StatusCode::kPermissionDenied, Code::kUnreadable,
                     absl::StrCat("cannot read '", path, "': ", std::strerror(error)));
}

absl::Status NotRegular(const std::string& path, bool folder) {
  std::vector<std::string> details;
  if (std::string model = folder ? ModelInFolder(path) : ""; !model.empty()) {
    details.push_back(absl::StrCat("try: onnx-mem ", model));
  }
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNotOnnx,
                     absl::StrCat("'", path, folder ? "' is a folder, not an ONNX model" : "' is not a regular file"),
                     std::move(details));
}

}  // namespace

absl::StatusOr<ByteWindow> ByteWindow::OverFile(const std::string& path) {
  ByteWindow window;
  window.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NONBLOCK: a pipe must not hang us
  if (window.fd_ < 0) return CannotOpen(path, errno);
  struct stat info;
  if (fstat(window.fd_, &info) != 0) return CannotOpen(path, errno);
  if (!S_ISREG(info.st_mode)) return NotRegular(path, S_ISDIR(info.st_mode));
  window.size_ = info.st_size;
#ifdef POSIX_FADV_RANDOM
  // Read-ahead would fetch from disk the weights that are about to be skipped.
  if (window.size_ > static_cast<int64_t>(16 * kLargestRead)) posix_fadvise(window.fd_, 0, 0, POSIX_FADV_RANDOM);
#endif
  return window;
}

ByteWindow ByteWindow::OverMemory(std::string_view bytes) {
  ByteWindow window;
  window.size_ = static_cast<int64_t>(bytes.size());
  window.data_ = bytes.data();
  window.length_ = bytes.size();
  return window;
}

ByteWindow::ByteWindow(ByteWindow&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      data_(other.data_),
      begin_(other.begin_),
      length_(std::exchange(other.length_, 0)),
      buffer_(std::move(other.buffer_)),
      read_ahead_(other.read_ahead_) {}

ByteWindow::~ByteWindow() {
  if (fd_ >= 0) close(fd_);
}

std::string_view ByteWindow::Refill(int64_t offset, size_t n) {
  if (fd_ < 0 || offset < 0 || offset > size_ || n > static_cast<size_t>(size_ - offset)) return {};
  const bool contiguous = offset >= begin_ && offset <= begin_ + static_cast<int64_t>(length_);
  read_ahead_ = contiguous ? std::min(read_ahead_ * 4, kLargestRead) : kSmallestRead;
  read_ahead_ = std::max(read_ahead_, kSmallestRead);
  const size_t wanted = std::min(std::max(n, read_ahead_), static_cast<size_t>(size_ - offset));
  if (buffer_.size() < wanted) buffer_.resize(std::max(wanted, kLargestRead));
  size_t got = 0;
  while (got < wanted) {
    const ssize_t bytes = pread(fd_, buffer_.data() + got, wanted - got, offset + static_cast<int64_t>(got));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    got += static_cast<size_t>(bytes);
  }
  data_ = buffer_.data();
  begin_ = offset;
  length_ = got;
  return got >= n ? std::string_view(data_, n) : std::string_view();
}

bool ReadVarint(ByteWindow& window, int64_t& at, int64_t end, uint64_t& value) {
  const std::string_view bytes = window.At(at, static_cast<size_t>(std::min<int64_t>(10, end - at)));
  value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      at += static_cast<int64_t>(i) + 1;
      return true;
    }
  }
  return false;
}

}  // namespace onnx_mem
