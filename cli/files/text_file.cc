#include "cli/files/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_format.h"
#include "analyzer/graph/diagnostic.h"

namespace onnx_mem {

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) {
    const bool missing = errno == ENOENT;
    return ErrorStatus(absl::StatusCode::kNotFound, missing ? "not-found" : "unreadable",
                       absl::StrFormat("cannot open '%s': %s", path, missing ? "no such file" : std::strerror(errno)));
  }
  std::string text;
  char block[65536];
  for (size_t read = 0; (read = std::fread(block, 1, sizeof block, file.get())) > 0;) text.append(block, read);
  if (std::ferror(file.get()) != 0) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, "unreadable",
                       absl::StrFormat("cannot read '%s': %s", path, std::strerror(errno)));
  }
  return text;
}

}  // namespace onnx_mem
