#include "analyzer/onnx/read/sniff.h"

#include <array>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/graph/diagnostic.h"
#include "analyzer/graph/suggest.h"

namespace onnx_mem {
namespace {

using std::literals::string_view_literals::operator""sv;

struct MagicRow {
  size_t offset;
  std::string_view bytes;  // compared without regard to case
  std::string_view what;   // "'x' is <what>, not an ONNX model"
  std::string_view help;
};

constexpr auto kMagic = std::to_array<MagicRow>({
    {0, "PK\x03\x04"sv, "a PyTorch checkpoint (zip archive)", kExportRecipe},
    {0, "\x80\x02\x8a\x0a"sv, "a PyTorch checkpoint (legacy pickle)", kExportRecipe},
    {0, "\x80\x02"sv, "a Python pickle", kExportRecipe},
    {0, "\x80\x03"sv, "a Python pickle", kExportRecipe},
    {0, "\x80\x04"sv, "a Python pickle", kExportRecipe},
    {0, "\x80\x05"sv, "a Python pickle", kExportRecipe},
    {8, "{\""sv, "a safetensors file (weights without a graph)", kExportRecipe},
    {0, "\x1f\x8b"sv, "gzip-compressed", ""},
    {0, "<!doctype"sv, "an HTML page (a web error page saved as .onnx?)", ""},
    {0, "<html"sv, "an HTML page (a web error page saved as .onnx?)", ""},
    {0, "<?xml"sv, "an XML document (an error page saved as .onnx?)", ""},
    {4, "TFL3"sv, "a TensorFlow Lite model",
     "try: python -m tf2onnx.convert --tflite model.tflite --output model.onnx"},
    {0, "GGUF"sv, "a GGUF file (weights without a graph)", kExportRecipe},
    {0, "\x89HDF\r\n"sv, "an HDF5 file (Keras?)",
     "try: python -m tf2onnx.convert --saved-model DIR --output model.onnx"},
    {0, "\x93NUMPY"sv, "a NumPy array", ""},
    {4, "ORTM"sv, "an onnxruntime .ort model", ""},
});

// "PK\3\4" opens many formats: the name of the first entry tells which.
std::string_view ZipKind(std::string_view head) {
  if (absl::StrContains(absl::string_view(head.data(), head.size()), ".npy")) return "a NumPy archive (zip)";
  if (absl::StrContains(absl::string_view(head.data(), head.size()), ".onnx")) return "a zip archive";
  if (absl::StrContains(absl::string_view(head.data(), head.size()), "config.json"))
    return "a Keras model (zip archive)";
  return kMagic[0].what;
}

bool Matches(const MagicRow& row, std::string_view head) {
  return head.size() >= row.offset + row.bytes.size() &&
         absl::EqualsIgnoreCase(absl::string_view(head.data() + row.offset, row.bytes.size()),
                                absl::string_view(row.bytes.data(), row.bytes.size()));
}

absl::Status NotOnnx(const std::string& path, std::string_view what, std::string_view help) {
  std::vector<std::string> details;
  if (!help.empty()) details.emplace_back(help);
  return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kNotOnnx,
                     absl::StrCat("'", path, "' is ", std::string(what), ", not an ONNX model"), std::move(details));
}

}  // namespace

absl::Status CheckMagic(std::string_view head, int64_t file_bytes, const std::string& path) {
  if (file_bytes == 0) {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kEmpty,
                       absl::StrCat("'", path, "' is empty (0 bytes)"));
  }
  if (head.substr(0, 23) == "version https://git-lfs") {
    return ErrorStatus(absl::StatusCode::kInvalidArgument, Code::kLfsPointer,
                       absl::StrCat("'", path, "' is a git-lfs pointer (", file_bytes, " bytes), not the model"),
                       {absl::StrCat("try: git lfs pull --include ", path)});
  }
  const size_t text = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const std::string_view trimmed = text == std::string_view::npos ? std::string_view() : head.substr(text);
  for (const MagicRow& row : kMagic) {
    if (!Matches(row, row.bytes[0] == '<' ? trimmed : head)) continue;
    const std::string help =
        row.bytes == "\x1f\x8b"sv ? absl::StrCat("try: gunzip -c ", path, " > model.onnx") : std::string(row.help);
    return NotOnnx(path, &row == &kMagic[0] ? ZipKind(head) : row.what, help);
  }
  return absl::OkStatus();
}

}  // namespace onnx_mem
