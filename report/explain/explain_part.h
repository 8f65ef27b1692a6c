// What a report shows of a snapshot, and the forms that it takes.
#ifndef ONNX_MEM_REPORT_EXPLAIN_EXPLAIN_PART_H_
#define ONNX_MEM_REPORT_EXPLAIN_EXPLAIN_PART_H_

#include <memory>
#include <string>
#include <vector>

#include "analyzer/snapshot/explain.h"
#include "analyzer/snapshot/match.h"
#include "report/parts/json_writer.h"
#include "report/parts/screen.h"
#include "report/parts/table.h"

namespace onnx_mem {

struct Report;

struct ExplainedSnapshot {
  std::string path;
  Explanation explanation;
};
using ExplainPart = std::shared_ptr<const ExplainedSnapshot>;

// What is found, a row each; bytes by category; by category and line; every block.
std::vector<Table> TablesOf(const Explanation& explanation);

// Beside a model's prediction: blocks by the names of its tensors, and those that no tensor has the size of.
std::vector<Table> TablesOf(const SnapshotMatch& match, const Explanation& explanation);

std::string ExplainText(const ExplainedSnapshot& explained, const Report& report, const Screen& screen);
std::string ExplainQuiet(const ExplainedSnapshot& explained);
void WriteExplained(JsonWriter& json, const ExplainedSnapshot& explained);

}  // namespace onnx_mem

#endif  // ONNX_MEM_REPORT_EXPLAIN_EXPLAIN_PART_H_
