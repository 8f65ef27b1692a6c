// Compares the program's JSON report with what was measured in PyTorch, field by field and to the byte.
//
//   measured_test PROGRAM TESTDATA_FOLDER MODEL
//
// testdata/measured/MODEL.json holds the cases: a file, a command line, fields and their measured values.
// testdata/measured/known_differences.json lists where we are not exact, how far at most, and why; an entry that no
// case needs any more is a failure too, so that the list only ever tells the truth.
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

[[noreturn]] void Die(const std::string& message) {
  std::cerr << message << "\n";
  std::exit(2);
}

Json ReadJson(const fs::path& path) {
  std::ifstream in(path);
  Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) Die(path.string() + " is missing or no JSON");
  return json;
}

std::string Quoted(const std::string& word) { return "'" + word + "'"; }

// The report of `command`; nullopt, and the reason printed, where it fails.
std::optional<Json> Report(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) Die("cannot run " + command);
  std::string output;
  char chunk[1 << 16];
  for (size_t n; (n = fread(chunk, 1, sizeof chunk, pipe)) > 0;) output.append(chunk, n);
  const int status = pclose(pipe);
  Json json = Json::parse(output, nullptr, /*allow_exceptions=*/false);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || json.is_discarded()) {
    std::cout << "failed: " << command << "\n";
    return std::nullopt;
  }
  return json;
}

struct Difference {
  std::string file;
  std::string arguments;
  std::string field;  // "training.peak_bytes"
  int64_t measured = 0;
  std::optional<int64_t> ours;

  double relative() const {
    if (!ours) return 1.0;
    return std::abs(static_cast<double>(*ours - measured)) / static_cast<double>(std::max<int64_t>(measured, 1));
  }
};

// Adds every field of `section` whose value in the report is another one, or is absent.
void CompareSection(const Json& expected, const Json& report, const Difference& about, std::vector<Difference>& out) {
  for (const auto& [key, value] : expected.items()) {
    Difference difference = about;
    difference.field += "." + key;
    difference.measured = value.get<int64_t>();
    if (report.is_object() && report.contains(key) && report[key].is_number_integer()) {
      difference.ours = report[key].get<int64_t>();
    }
    if (difference.ours != difference.measured) out.push_back(difference);
  }
}

// Adds what `one` measured outside of the interval that the report gives: {"holds": {"training": bytes}}.
void CompareIntervals(const Json& expected, const Json& run, const Difference& about, std::vector<Difference>& out) {
  for (const auto& [section, value] : expected.items()) {
    Difference difference = about;
    difference.field = section + ".peak_interval_bytes";
    difference.measured = value.get<int64_t>();
    const Json interval = run.value(section, Json::object()).value("peak_interval_bytes", Json::array());
    if (interval.size() == 2)
      difference.ours = std::clamp(difference.measured, interval[0].get<int64_t>(), interval[1].get<int64_t>());
    if (difference.ours != difference.measured) out.push_back(difference);
  }
}

std::string JoinArguments(const Json& arguments) {
  std::string text;
  for (const Json& word : arguments) text += (text.empty() ? "" : " ") + word.get<std::string>();
  return text;
}

std::vector<Difference> RunCase(const std::string& program, const fs::path& testdata, const Json& one) {
  std::string command = Quoted(program) + " " + Quoted((testdata / "models" / one["file"].get<std::string>()).string());
  for (const Json& word : one["arguments"]) command += " " + Quoted(word.get<std::string>());
  if (one.contains("segments")) {
    const Json plan = {{"segments", one["segments"]}};
    command = "printf %s " + Quoted(plan.dump()) + " | " + command + " --plan /dev/stdin";
  }
  command += " --format json";

  std::vector<Difference> differences;
  Difference about;
  about.file = one["file"].get<std::string>();
  about.arguments = JoinArguments(one["arguments"]);
  if (one.contains("segments")) about.arguments += " segments " + one["segments"].dump();
  const std::optional<Json> report = Report(command);
  const Json none = Json::object();
  const Json& run = report && report->contains("runs") && !(*report)["runs"].empty() ? (*report)["runs"][0] : none;
  for (const char* section : {"model", "training", "inference", "flops"}) {
    if (!one.contains(section)) continue;
    const Json& part = std::string(section) == "model" ? (report ? *report : none) : run;
    about.field = section;
    CompareSection(one[section], part.contains(section) ? part[section] : none, about, differences);
  }
  if (one.contains("holds")) CompareIntervals(one["holds"], run, about, differences);
  return differences;
}

// {"file": ..., "field": ..., "arguments": substring, "at_most": 0.001, "because": ...}
bool Covers(const Json& known, const Difference& difference) {
  return known["file"].get<std::string>() == difference.file && known["field"].get<std::string>() == difference.field &&
         difference.arguments.find(known.value("arguments", "")) != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) Die("usage: measured_test PROGRAM TESTDATA_FOLDER MODEL");
  const fs::path testdata = argv[2];
  const Json measured = ReadJson(testdata / "measured" / (std::string(argv[3]) + ".json"));
  const Json all_known = ReadJson(testdata / "measured" / "known_differences.json");
  const Json known = all_known.value(argv[3], Json::array());
  std::vector<bool> needed(known.size(), false);

  int compared = 0;
  int faults = 0;
  for (const Json& one : measured["cases"]) {
    ++compared;
    for (const Difference& difference : RunCase(argv[1], testdata, one)) {
      double allowed = 0;
      for (size_t i = 0; i < known.size(); ++i) {
        if (!Covers(known[i], difference)) continue;
        needed[i] = true;
        allowed = std::max(allowed, known[i]["at_most"].get<double>());
      }
      if (difference.relative() <= allowed) continue;
      ++faults;
      std::cout << difference.file << " " << difference.arguments << "\n    " << difference.field << ": measured "
                << difference.measured << ", ours "
                << (difference.ours ? std::to_string(*difference.ours) : std::string("absent")) << " ("
                << 100 * difference.relative() << " %)\n";
    }
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (needed[i]) continue;
    ++faults;
    std::cout << "no case differs any more: take it out of known_differences.json: " << known[i].dump() << "\n";
  }
  std::cout << compared << " cases, " << faults << " faults\n";
  return faults == 0 && compared > 0 ? 0 : 1;
}
