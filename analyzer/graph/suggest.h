// What a text proposes: "did you mean", the known names nearest to one that is not known; a recipe; words to copy.
//
//   Suggest("--bacth", {"--batch", "--by"})  ->  {"--batch"}
#ifndef ONNX_MEM_ANALYZER_GRAPH_SUGGEST_H_
#define ONNX_MEM_ANALYZER_GRAPH_SUGGEST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace onnx_mem {

// Edits that turn `a` into `b`: insert, delete or replace a character, or swap two neighbours, no part edited twice
// (the optimal string alignment form of the Damerau-Levenshtein distance). Upper and lower case are equal. Counts no
// further than `limit` + 1.
size_t EditDistance(std::string_view a, std::string_view b, size_t limit);

// Names of `known` at most two edits away (one for names of three characters or fewer), nearest first, then in the
// order given; at most `count`.
std::vector<std::string> Suggest(std::string_view word, const std::vector<std::string>& known, size_t count = 2);

// Whether two words are the same to someone who types them: case, '-', '_', '.' and spaces do not tell words apart.
//
//   SameWord("Cross_Entropy", "cross-entropy")
bool SameWord(std::string_view a, std::string_view b);

// Whether `word` is the same as one of `words`, which spaces separate.
bool HasWord(std::string_view words, std::string_view word);

// "did you mean: a, b", or "" when nothing is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// How to export, wherever a text advises to: what the running model recorded leaves nothing open.
inline constexpr std::string_view kExportRecipe =
    "try: onnx_mem.export(model, (x,), \"model.onnx\")   # in Python; its record leaves nothing open";

// `word` as a shell reads it back, in quotes where it has to be: for commands that are to be copied.
//
//   ShellWord("RTX 4090")  ->  'RTX 4090'
std::string ShellWord(std::string_view word);

}  // namespace onnx_mem

#endif  // ONNX_MEM_ANALYZER_GRAPH_SUGGEST_H_
