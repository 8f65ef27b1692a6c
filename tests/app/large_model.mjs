// Writes a model of one matrix product whose weight has `rows` x `columns` floats in the file, all zero and, where the file
// system knows holes, of no size on disk.
import {closeSync, ftruncateSync, openSync, writeSync} from "node:fs";

function varint(number) {
  const bytes = [];
  for (let rest = BigInt(number); ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest <= 127n) return Buffer.from(bytes);
  }
}
const key = (field, wire) => varint(field * 8 + wire);
const number = (field, value) => Buffer.concat([key(field, 0), varint(value)]);
const head = (field, length) => Buffer.concat([key(field, 2), varint(length)]);
const part = (field, ...parts) => {
  const body = Buffer.concat(parts.map((each) => Buffer.from(each)));
  return Buffer.concat([head(field, body.length), body]);
};

function valueInfo(field, name, ...dims) {
  const shape = part(2, ...dims.map((dim) => typeof dim === "string" ? part(1, part(2, dim)) : part(1, number(1, dim))));
  return part(field, part(1, name), part(2, part(1, number(1, 1), shape)));
}

export function writeLargeModel(file, rows, columns) {
  const bytes = rows * columns * 4;
  const nodes = part(1, part(1, "x"), part(1, "w"), part(2, "y"), part(3, "product"), part(4, "MatMul"));
  const tensor = Buffer.concat([number(1, rows), number(1, columns), number(2, 1), part(8, "w"), head(9, bytes)]);
  const values = Buffer.concat([valueInfo(11, "x", "batch", rows), valueInfo(12, "y", "batch", columns)]);
  const before = Buffer.concat([nodes, part(2, "large"), head(5, tensor.length + bytes), tensor]);
  const model = Buffer.concat([number(1, 8), part(8, number(2, 17)), head(7, before.length + bytes + values.length), before]);
  const out = openSync(file, "w");
  writeSync(out, model);
  ftruncateSync(out, model.length + bytes);
  writeSync(out, values, 0, values.length, model.length + bytes);
  closeSync(out);
}
