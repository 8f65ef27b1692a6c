#include "analyzer/exported/second_names.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/exported/parameter_path.h"

namespace onnx_mem {
namespace {

using Names = absl::flat_hash_set<std::string>;
using List = std::vector<std::string>;

// The names that the reading modules have for what they read.
Names NamesAtReaders(const std::vector<ForeignRead>& reads) {
  Names names;
  for (const ForeignRead& read : reads) {
    const std::string last(SplitPath(read.target).second);
    names.insert(read.module.empty() ? last : absl::StrCat(read.module, ".", last));
  }
  return names;
}

// "encoder.fc" and "decoder.encoder.fc" are one module: so are "encoder" and "decoder.encoder".
std::pair<std::string_view, std::string_view> WithoutCommonEnd(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto [around_a, last_a] = SplitPath(a);
    const auto [around_b, last_b] = SplitPath(b);
    if (last_a != last_b || around_a.empty() || around_b.empty()) break;
    a = around_a;
    b = around_b;
  }
  return {a, b};
}

// Modules that are one, as a call in the first reads what is listed as the second's: the first name, the later one.
using ModulePairs = std::set<std::pair<std::string, std::string>>;

ModulePairs SharedModules(const List& listed, const std::vector<ForeignRead>& reads) {
  const Names names(listed.begin(), listed.end());
  ModulePairs shared;
  for (const ForeignRead& read : reads) {
    const auto [owner, last] = SplitPath(read.target);
    if (!names.contains(absl::StrCat(read.module, ".", std::string(last)))) continue;
    const auto [one, other] = WithoutCommonEnd(read.module, owner);
    shared.emplace(one, other);
  }
  return shared;
}

// All that is in such a module has its name there as well, which is the later one.
void FindSharedUnder(const ModulePairs& shared, const List& listed, const List& unread, Names& second) {
  absl::flat_hash_map<std::string, size_t> places;
  for (size_t i = 0; i < listed.size(); ++i) places.emplace(listed[i], i);
  for (const std::string& target : unread) {
    for (const auto& [one, other] : shared) {
      if (!absl::StartsWith(target, absl::StrCat(one, "."))) continue;
      const auto later = places.find(absl::StrCat(other, target.substr(one.size())));
      if (later != places.end() && later->second > places[target]) second.insert(target);
    }
  }
}

// A module that holds parameters, and what they are called in it.
struct ListedLayer {
  std::string path;
  std::vector<std::string> parameters;
  size_t place = 0;  // of its first one
  bool is_unread = true;
};

// By the module around them, in order.
std::map<std::string, std::vector<ListedLayer>> LayersOf(const List& listed, const Names& unread) {
  std::map<std::string, std::vector<ListedLayer>> layers;
  for (size_t i = 0; i < listed.size(); ++i) {
    const std::string& target = listed[i];
    const std::string path(WithoutParametrizations(SplitPath(target).first));
    if (path.empty()) continue;
    std::vector<ListedLayer>& inside = layers[std::string(SplitPath(path).first)];
    if (inside.empty() || inside.back().path != path) inside.push_back({.path = path, .parameters = {}, .place = i});
    inside.back().parameters.push_back(target.substr(path.size() + 1));
    inside.back().is_unread &= unread.contains(target);
  }
  return layers;
}

bool AreAlike(const std::vector<ListedLayer>& own, const std::vector<ListedLayer>& listed_again) {
  return std::equal(own.begin(), own.end(), listed_again.begin(), listed_again.end(),
                    [](const ListedLayer& a, const ListedLayer& b) {
                      return !b.is_unread && a.place < b.place && a.parameters == b.parameters;
                    });
}

// Unread layers of a module that a container beside them has again, one for one, later and read. One layer alone may
// be like another by chance.
void FindListedAgain(const std::map<std::string, std::vector<ListedLayer>>& layers, Names& second) {
  for (const auto& [module, inside] : layers) {
    std::vector<ListedLayer> own;
    std::copy_if(inside.begin(), inside.end(), std::back_inserter(own),
                 [](const ListedLayer& l) { return l.is_unread; });
    if (own.size() < 2) continue;
    const bool is_again = std::any_of(layers.begin(), layers.end(), [&, m = &module](const auto& other) {
      return SplitPath(other.first).first == *m && !other.first.empty() && AreAlike(own, other.second);
    });
    if (!is_again) continue;
    for (const ListedLayer& layer : own) {
      for (const std::string& parameter : layer.parameters) second.insert(absl::StrCat(layer.path, ".", parameter));
    }
  }
}

}  // namespace

void EraseSecondNames(const ProgramSignature& signature, SignatureKind kind, const std::vector<ForeignRead>& reads,
                      std::vector<std::string>& unread) {
  std::vector<std::string> listed;
  for (const SignatureEntry& entry : signature.entries()) {
    if (entry.kind == kind) listed.push_back(entry.target);
  }
  Names second = NamesAtReaders(reads);
  FindSharedUnder(SharedModules(listed, reads), listed, unread, second);
  FindListedAgain(LayersOf(listed, Names(unread.begin(), unread.end())), second);
  std::erase_if(unread, [&](const std::string& target) { return second.contains(target); });
}

}  // namespace onnx_mem
