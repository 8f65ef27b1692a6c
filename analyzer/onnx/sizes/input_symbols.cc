#include "analyzer/onnx/sizes/input_symbols.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "analyzer/onnx/sizes/dim_expression.h"

namespace onnx_mem {
namespace {

// Names that people and exporters give to a batch dimension, and to what is surely none.
bool NamedLikeBatch(std::string_view symbol) {
  const std::string name = absl::AsciiStrToLower(absl::string_view(symbol.data(), symbol.size()));
  return absl::StrContains(name, "batch") || name == "n" || name == "b" || name == "bs" || name == "bsz";
}
bool NamedLikeLength(std::string_view symbol) {
  const std::string name = absl::AsciiStrToLower(absl::string_view(symbol.data(), symbol.size()));
  constexpr auto kWords =
      std::to_array<const char*>({"seq", "len", "time", "width", "height", "frames", "num_", "tokens"});
  return name == "t" || name == "l" || name == "s" ||
         std::any_of(kWords.begin(), kWords.end(), [&](const char* word) { return absl::StrContains(name, word); });
}

}  // namespace

InputSymbols SymbolsOf(const std::vector<DeclaredInput>& inputs) {
  InputSymbols symbols;
  std::vector<std::string> leading;
  for (const DeclaredInput& input : inputs) {
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i].size) continue;
      symbols.leading |= i == 0;
      for (const std::string& symbol : DimNames(input.dims[i].symbol)) {
        if (symbol.empty()) continue;
        if (std::find(symbols.all.begin(), symbols.all.end(), symbol) == symbols.all.end()) {
          symbols.all.push_back(symbol);
        }
        if (i == 0) leading.push_back(symbol);
      }
    }
  }
  const bool some_named = std::any_of(symbols.all.begin(), symbols.all.end(), NamedLikeBatch);
  for (const std::string& symbol : leading) {
    if (!some_named || !NamedLikeLength(symbol)) symbols.batch.insert(symbol);
  }
  // [seq, batch, features]: what is called batch is the batch though it is not dim 0.
  for (const std::string& symbol : symbols.all) {
    if (absl::StrContains(absl::AsciiStrToLower(symbol), "batch")) symbols.batch.insert(symbol);
  }
  return symbols;
}

std::string InputSymbols::MainBatch() const {
  const auto named = std::find_if(batch.begin(), batch.end(), NamedLikeBatch);
  return named != batch.end() ? *named : *batch.begin();
}

}  // namespace onnx_mem
