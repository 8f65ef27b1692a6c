#include "planner/code/tensor_setup.h"

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "planner/code/python_text.h"

namespace onnx_mem {
namespace {

// A style as torch makes it, and the list of its modules.
struct StyleRow {
  TensorStyle style;
  const char* list;
  const char* made;
};
constexpr auto kStyles = std::to_array<StyleRow>({
    {TensorStyle::kColwise, "COLUMNS", "ColwiseParallel()"},
    {TensorStyle::kRowwise, "ROWS", "RowwiseParallel()"},
    {TensorStyle::kGathered, "GATHERED", "ColwiseParallel(output_layouts=Replicate())"},
    {TensorStyle::kEmbedding, "TABLES", "RowwiseParallel(input_layouts=Replicate())"},
});

std::vector<std::string> PathsWith(TensorStyle style, const std::vector<SplitModule>& split) {
  std::vector<std::string> paths;
  for (const SplitModule& module : split) {
    if (module.style == style) paths.push_back(module.path);
  }
  return paths;
}

}  // namespace

std::string SplitNames(const std::vector<SplitModule>& split) {
  std::string text;
  for (const StyleRow& row : kStyles) {
    const std::vector<std::string> paths = PathsWith(row.style, split);
    if (paths.empty()) continue;
    constexpr size_t kBehindList = 4;  // " = ["
    absl::StrAppend(
        &text, row.list, " = ",
        GroupedList(paths, std::vector<std::string>(paths.size()), std::string_view(row.list).size() + kBehindList),
        "\n");
  }
  return text;
}

std::string TensorImports(const std::vector<SplitModule>& split) {
  const bool ends =
      !PathsWith(TensorStyle::kGathered, split).empty() || !PathsWith(TensorStyle::kEmbedding, split).empty();
  return absl::StrCat(kMeshImport, ends ? "    from torch.distributed.tensor import Replicate\n" : "",
                      "    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, "
                      "parallelize_module\n");
}

std::string TensorSetup(const std::vector<SplitModule>& split) {
  std::string text =
      "    # A forward that names its number of heads is given its rank's share of them before this.\n"
      "    known = dict(model.named_modules())\n"
      "    styles = {}\n";
  for (const StyleRow& row : kStyles) {
    if (PathsWith(row.style, split).empty()) continue;
    absl::StrAppend(&text, "    styles |= {name: ", row.made, " for name in ", row.list, "}\n");
  }
  return absl::StrCat(text,
                      "    parallelize_module(model, mesh[\"tensor\"], {\n"
                      "        name if name in known else name.removeprefix(EXPORT_WRAPPER): style for name, style in "
                      "styles.items()})\n");
}

}  // namespace onnx_mem
