#include "analyzer/snapshot/findings.h"

#include <algorithm>
#include <array>
#include <map>

#include "analyzer/order/stable_sort.h"

namespace onnx_mem {
namespace {

constexpr auto kRows = std::to_array<CauseRow>({
#define ONNX_MEM_FINDING(id, ...) {__VA_ARGS__},
#include "analyzer/snapshot/finding_kinds.inc"
});

constexpr double kWorthIt = 0.05;  // of what is allocated; less than that is no cause
constexpr int64_t kLeastBytes = 1 << 20;
constexpr double kMuch = 0.25;

// The call with most bytes of the blocks that `counts`.
template <class Counts>
SnapshotFinding OfCall(FindingKind kind, const FindingQuestion& q, Counts counts) {
  std::map<FrameId, SnapshotFinding> calls;
  for (size_t i = 0; i < q.view.held.size(); ++i) {
    const HeldBlock& block = q.view.held[i];
    if (!counts(i)) continue;
    const StackFacts& facts = q.facts[block.stack];
    SnapshotFinding& finding = calls[facts.call];
    finding.kind = kind;
    finding.call = facts.call;
    finding.bytes += block.bytes;
    ++finding.blocks;
  }
  SnapshotFinding most{kind};
  for (const auto& [call, finding] : calls) {
    if (finding.bytes > most.bytes) most = finding;
  }
  return most;
}

bool IsMuch(const FindingQuestion& q, int64_t bytes) {
  return static_cast<double>(bytes) >= kMuch * static_cast<double>(q.division.allocated_bytes);
}

}  // namespace

const CauseRow& RowOf(FindingKind kind) { return kRows[static_cast<size_t>(kind)]; }

void AddHeld(const FindingQuestion& q, std::vector<SnapshotFinding>& findings) {
  const SnapshotFinding data = OfCall(FindingKind::kHeldData, q, [&](size_t i) {
    const MadeBy by = q.facts[q.view.held[i].stack].made_by;
    return (by == MadeBy::kData || by == MadeBy::kOwnCode) && q.view.held[i].pass == 0 &&
           q.owners[i] != Owner::kCopies && !q.view.freed_in_backward.contains(q.view.held[i].stack);
  });
  const bool first = q.view.passes == 0 && q.view.bytes_of_round.size() > 1;  // perhaps a loop that runs still
  if (data.blocks > 2 && IsMuch(q, data.bytes) && !first) findings.push_back(data);
  const SnapshotFinding copies =
      OfCall(FindingKind::kModelCopies, q, [&](size_t i) { return q.owners[i] == Owner::kCopies; });
  if (copies.bytes > 0) findings.push_back(copies);
  if (!q.division.requested_bytes || q.view.in_backward) return;
  const SnapshotFinding gradients = OfCall(FindingKind::kGradientsKept, q, [&](size_t i) {
    return q.owners[i] == Owner::kGradients && q.view.held[i].pass == q.view.passes - 1;
  });
  const bool forward = q.view.last_event > q.view.optimizer_event;
  if (gradients.bytes > 0 && forward) findings.push_back(gradients);
}

void AddSizes(const FindingQuestion& q, std::vector<SnapshotFinding>& findings) {
  const MemoryDivision& division = q.division;
  if (!division.requested_bytes) return;
  const StackFacts& failed = q.facts[q.snapshot.events[q.view.moment].stack];
  if (*division.requested_bytes > division.allocated_bytes) {
    findings.push_back({FindingKind::kOneRequest, *division.requested_bytes, 1, 0, failed.call,
                        failed.where == failed.call ? kNoFrame : failed.where});
  }
  if (division.usable_gap_bytes >= *division.requested_bytes &&
      !q.snapshot.expandable) {  // those move their free pages
    findings.push_back({FindingKind::kFragmentation, division.usable_gap_bytes, division.gaps, 0, kNoFrame, kNoFrame});
  }
}

namespace {

// Where nothing is wrong but the size: what most of it is.
SnapshotFinding Composition(const FindingQuestion& q) {
  const auto bytes_of = [&](std::initializer_list<Owner> owners) {
    int64_t bytes = 0;
    for (size_t i = 0; i < q.owners.size(); ++i) {
      if (std::find(owners.begin(), owners.end(), q.owners[i]) != owners.end()) bytes += q.view.held[i].bytes;
    }
    return bytes;
  };
  const int64_t state =
      bytes_of({Owner::kParameters, Owner::kGradients, Owner::kOptimizerState, Owner::kOptimizerTemporaries});
  const int64_t activations = bytes_of({Owner::kActivations, Owner::kActivationGradients});
  const int64_t unknown = bytes_of({Owner::kUnknown});
  const int64_t inputs = bytes_of({Owner::kInputs});
  const StackFacts& failed = q.facts[q.snapshot.events[q.view.moment].stack];
  if (unknown > state && unknown > activations) return {FindingKind::kUnknownHolder, unknown};
  if (inputs > state && inputs > activations) {
    return OfCall(FindingKind::kHeldData, q, [&](size_t i) { return q.owners[i] == Owner::kInputs; });
  }
  if (failed.made_by == MadeBy::kOptimizer || state > activations) {
    return {FindingKind::kOptimizerState, state, 0, 0, failed.made_by == MadeBy::kOptimizer ? failed.call : kNoFrame};
  }
  SnapshotFinding finding =
      OfCall(FindingKind::kActivations, q, [&](size_t i) { return q.owners[i] == Owner::kActivations; });
  finding.bytes = activations;
  return finding;
}

}  // namespace

std::vector<SnapshotFinding> FindingsOf(const FindingQuestion& q) {
  std::vector<SnapshotFinding> findings;
  AddKept(q, findings);
  AddHeld(q, findings);
  AddSizes(q, findings);
  std::erase_if(findings, [&](const SnapshotFinding& finding) {
    return finding.bytes < kLeastBytes ||
           static_cast<double>(finding.bytes) < kWorthIt * static_cast<double>(q.division.allocated_bytes);
  });
  StableSort(findings, [](const SnapshotFinding& a, const SnapshotFinding& b) { return a.bytes > b.bytes; });
  // What one line does is found once.
  for (size_t i = 0; i < findings.size(); ++i) {
    const FrameId call = findings[i].call;
    const auto later = findings.begin() + static_cast<ptrdiff_t>(i) + 1;
    findings.erase(std::remove_if(later, findings.end(),
                                  [&](const SnapshotFinding& other) { return call != kNoFrame && other.call == call; }),
                   findings.end());
  }
  const bool explained = !findings.empty() && 2 * findings.front().bytes >= q.division.allocated_bytes;
  if (!q.division.requested_bytes || explained) return findings;
  const SnapshotFinding most = Composition(q);
  const bool known = most.call != kNoFrame && std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
                       return finding.call == most.call;
                     });
  if (!known && IsMuch(q, most.bytes)) findings.push_back(most);
  return findings;
}

}  // namespace onnx_mem
