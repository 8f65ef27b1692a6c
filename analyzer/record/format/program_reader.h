// The lines of one program of a record.
#ifndef ONNX_MEM_ANALYZER_RECORD_FORMAT_PROGRAM_READER_H_
#define ONNX_MEM_ANALYZER_RECORD_FORMAT_PROGRAM_READER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/record/format/budget.h"
#include "analyzer/record/format/cursor.h"
#include "analyzer/record/format/record.h"

namespace onnx_mem::record {

class ProgramReader {
 public:
  // Adds to `program`. Both outlive this.
  ProgramReader(Program& program, Budget& budget) : program_(program), budget_(budget) {}

  void ReadLine(Cursor& c);
  // What a program ends with must have been read.
  void Close(Cursor& c) const;
  // Calls, functions and checkpoints that are open.
  size_t depth() const { return open_.size(); }

 private:
  struct Word;

  void ReadStatement(Cursor& c);
  bool ReadWord(Cursor& c, Line& line);
  bool ReadAside(Cursor& c);

  // What follows each word of a span.
  void ReadCall(Cursor& c, Line& line) {
    line.name = ReadPath(c, c.TakeRest());
    Open(line.kind);
    budget_.OpenCall(line.name);
  }
  void ReadEndOfCall(Cursor& c, Line&) {
    CloseSpan(c, Line::Kind::kCall);
    budget_.CloseCall();
  }
  void ReadGrad(Cursor& c, Line& line) {
    line.flag = c.rest() == "on";
    if (!line.flag && c.rest() != "off") c.Fail("'on' or 'off'");
  }
  void ReadLeaf(Cursor& c, Line& line) { line.values = {Use(c)}; }
  void ReadFunction(Cursor& c, Line& line) {
    line.name = ReadPath(c, c.TakeRest());
    Open(line.kind);
  }
  void ReadEndOfFunction(Cursor& c, Line& line) {
    CloseSpan(c, Line::Kind::kFunction);
    c.Take(" ");
    line.values = UseAll(c);
    if (c.Take("held ")) line.drops = UseAll(c);
    ends_function_ = true;
  }
  void ReadBackward(Cursor& c, Line& line) {
    if (!ends_function_) c.Fail("'backward' right behind 'endfunction' only");
    ReadGradients(c, line);
    Open(line.kind);
  }
  void ReadEndOfBackward(Cursor& c, Line& line) {
    CloseSpan(c, Line::Kind::kBackward);
    ReadGradientsOfInputs(c, line);
  }
  void ReadCheckpoint(Cursor& c, Line& line) {
    line.flag = c.Take(" reentrant");
    c.Take(" ");
    line.values = UseAll(c);
    Open(line.kind);
  }
  void ReadEndOfCheckpoint(Cursor& c, Line&) { CloseSpan(c, Line::Kind::kCheckpoint); }
  // A path of thousands of modules would be taken apart again and again.
  static std::string_view ReadPath(Cursor& c, std::string_view path);
  void Open(Line::Kind kind) { open_.push_back(kind); }
  // The innermost open span must be of the kind. A word that closes without arguments is all of its line.
  void CloseSpan(Cursor& c, Line::Kind kind);
  void ReadGradients(Cursor& c, Line& line);
  void ReadGradientsOfInputs(Cursor& c, Line& line);
  void ReadReturn(Cursor& c);
  void ReadTied(Cursor& c);
  // "%3 param head.bias f32[10] frozen". False, and nothing read, where the line is none.
  bool ReadDeclaration(Cursor& c);
  void ReadResults(Cursor& c, Line& line);
  void ReadOperation(Cursor& c, Line& line);
  // Of "dtype=f32"; "" where the argument has none.
  static std::string OptionName(Cursor& c);
  void CheckArgument(Cursor& c, const Argument& argument);
  void CheckRoot(Cursor& c, const ValueType& type);
  void CheckDefined(Cursor& c, ValueNumber number);
  ValueNumber Use(Cursor& c);
  std::vector<ValueNumber> UseAll(Cursor& c);
  void Define(Cursor& c, ValueNumber number, Value value);

  Program& program_;
  Budget& budget_;
  bool returned_ = false;
  bool ends_function_ = false;  // the last line was an endfunction
  size_t defined_ = 0;
  std::vector<Line::Kind> open_;
};

}  // namespace onnx_mem::record

#endif  // ONNX_MEM_ANALYZER_RECORD_FORMAT_PROGRAM_READER_H_
