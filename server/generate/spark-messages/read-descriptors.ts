import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, type FileDescriptorProto } from "@bufbuild/protobuf/wkt";

/** Spark's Python modules carry the definitions they were compiled from, as a literal of bytes. */
export function readDescriptor(sparkHome: string, name: string): FileDescriptorProto {
  const module = readFileSync(join(sparkHome, "sql/connect/proto", `${name}_pb2.py`), "utf8");
  const [, quote, literal] = /AddSerializedFile\(\s*b(['"])(.*?)(?<!\\)\1\s*\)/s.exec(module) ?? [];
  if (quote === undefined || literal === undefined) throw new Error(`${name}_pb2.py holds no definitions`);
  return fromBinary(FileDescriptorProtoSchema, pythonBytes(literal));
}

const named: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, "\\": 92, "'": 39, '"': 34 };

/** The inside of Python's `b'…'`. */
export function pythonBytes(literal: string): Uint8Array {
  const bytes: number[] = [];
  for (const [, hex, octal, letter, plain] of literal.matchAll(
    /\\x([0-9a-f]{2})|\\([0-7]{1,3})|\\([nrt\\'"])|([^\\])/gs,
  )) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (letter !== undefined) bytes.push(named[letter] ?? 0);
    else bytes.push(plain?.charCodeAt(0) ?? 0);
  }
  return Uint8Array.from(bytes);
}
