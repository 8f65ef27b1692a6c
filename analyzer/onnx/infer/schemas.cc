#include "analyzer/onnx/infer/schemas.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>

#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"

namespace onnx_mem {
namespace {

enum class Domain { Onnx, OnnxML };  // as the classes of the library are called; sorted like the table

struct SchemaRow {
  Domain domain;
  std::string_view op;
  int version;
  onnx::OpSchema (*make)();
};

// Sorted by domain, operator and version (cmake/OnnxSchemaTable.cmake).
constexpr SchemaRow kSchemas[] = {
#define SCHEMA_ROW(domain, op, version) \
  {Domain::domain, #op, version, &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, op)>},
#include "analyzer/onnx/infer/schema_table.inc"
#undef SCHEMA_ROW
};

constexpr bool Before(const SchemaRow& a, const SchemaRow& b) {
  return std::tie(a.domain, a.op, a.version) < std::tie(b.domain, b.op, b.version);
}
static_assert(std::is_sorted(std::begin(kSchemas), std::end(kSchemas), Before));

const SchemaRow* Find(Domain domain, std::string_view op, int version) {
  const auto* after =
      std::upper_bound(std::begin(kSchemas), std::end(kSchemas), SchemaRow{domain, op, version, nullptr}, Before);
  if (after == std::begin(kSchemas)) return nullptr;
  const SchemaRow* row = after - 1;
  return row->domain == domain && row->op == op ? row : nullptr;
}

}  // namespace

const Schemas& Schemas::Instance() {
  static const Schemas instance;
  return instance;
}

const onnx::OpSchema* Schemas::GetSchema(const std::string& op, int version, const std::string& domain) const {
  const bool standard = domain.empty() || domain == "ai.onnx";
  // The training and preview domains are few and rare.
  if (!standard && domain != "ai.onnx.ml") return onnx::OpSchemaRegistry::Schema(op, version, domain);
  const SchemaRow* row = Find(standard ? Domain::Onnx : Domain::OnnxML, op, version);
  if (row == nullptr) return nullptr;
  static std::mutex mutex;
  static auto& made = *new std::array<std::unique_ptr<const onnx::OpSchema>, std::size(kSchemas)>();
  const std::lock_guard lock(mutex);
  auto& schema = made[static_cast<size_t>(row - kSchemas)];
  if (schema == nullptr) {
    onnx::OpSchema fresh = row->make();
    fresh.Finalize();
    schema = std::make_unique<const onnx::OpSchema>(std::move(fresh));
  }
  return schema.get();
}

int NewestOpset() { return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second; }

}  // namespace onnx_mem
