#include "analyzer/graph/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

absl::Status CannotRead(const std::string& path, std::string_view verb, const std::string& why) {
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kUnreadable,
                     absl::StrCat("cannot ", std::string(verb), " '", path, "': ", why));
}

absl::Status TooLarge(const std::string& path, std::string_view has, int64_t most_bytes) {
  return ErrorStatus(
      absl::StatusCode::kInvalidArgument, Code::kTooLarge,
      absl::StrCat("'", path, "' has ", std::string(has), " bytes; a file of its kind has at most ", most_bytes));
}

// Whoever started the program opened this pipe and writes to it: "printf ... |", "<(...)".
bool IsOwnDescriptor(const std::string& path) {
  return path == "/dev/stdin" || absl::StartsWith(path, "/dev/fd/") || absl::StartsWith(path, "/proc/self/fd/");
}

absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path, int64_t most_bytes) {
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) return CannotRead(path, "read", std::strerror(errno));
  std::string text;
  char part[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, "read", std::strerror(errno));
    if (got == 0) return text;
    text.append(part, static_cast<size_t>(got));
    if (static_cast<int64_t>(text.size()) > most_bytes) return TooLarge(path, "more", most_bytes);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, int64_t most_bytes) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // NONBLOCK: a pipe must not hang us
  if (file.fd < 0) {
    if (errno != ENOENT) return CannotRead(path, "open", std::strerror(errno));
    return ErrorStatus(absl::StatusCode::kNotFound, Code::kNotFound,
                       absl::StrCat("cannot open '", path, "': no such file"));
  }
  struct stat info;
  if (fstat(file.fd, &info) != 0) return CannotRead(path, "read", std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return CannotRead(path, "read", std::strerror(EISDIR));
  const bool open_pipe = S_ISFIFO(info.st_mode) && IsOwnDescriptor(path);
  if (!S_ISREG(info.st_mode) && !open_pipe) return CannotRead(path, "read", "not a regular file");
  if (info.st_size > most_bytes) {
    return TooLarge(path, absl::StrCat(static_cast<int64_t>(info.st_size)), most_bytes);
  }
  return ReadToEnd(file.fd, path, most_bytes);
}

}  // namespace onnx_mem
