import { randomFillSync } from "node:crypto";
import { closeSync, linkSync, mkdirSync, openSync, readSync, statSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { listFiles } from "./object-folders.ts";

const MIB = 1024 * 1024;
const FILES_PER_FOLDER = 1000;

/** `00004/0004711.suffix`: a thousand files per folder, as in the partitions of a table. */
export function numberedName(index: number, suffix: string): string {
  const folder = String(Math.floor(index / FILES_PER_FOLDER)).padStart(5, "0");
  return `${folder}/${String(index).padStart(7, "0")}${suffix}`;
}

/** Files of random bytes, all different. */
export function makeRandomFiles(folder: string, count: number, bytes: number): void {
  const contents = Buffer.alloc(bytes);
  for (let index = 0; index < count; index += 1) {
    writeBelow(folder, numberedName(index, ".bin"), randomFillSync(contents));
  }
}

/** Hard links to one file of random bytes, so that they take up the space of one. */
export function makeSameFiles(folder: string, count: number, bytes: number): void {
  const first = join(folder, "file-000.bin");
  mkdirSync(folder, { recursive: true });
  const part = Buffer.alloc(MIB);
  const descriptor = openSync(first, "w");
  for (let written = 0; written < bytes; written += part.length) {
    writeSync(descriptor, randomFillSync(part), 0, Math.min(part.length, bytes - written));
  }
  closeSync(descriptor);
  for (let index = 1; index < count; index += 1) {
    linkSync(first, join(folder, `file-${String(index).padStart(3, "0")}.bin`));
  }
}

/** Gzip files of about the given compressed size, all different. */
export function makeGzipFiles(folder: string, count: number, bytes: number): void {
  const ratio = gzipSync(logText(MIB, 0)).length / MIB;
  for (let index = 0; index < count; index += 1) {
    writeBelow(folder, numberedName(index, "-events.log.gz"), gzipSync(logText(bytes / ratio, index), { level: 1 }));
  }
}

export function makeTextFile(folder: string, name: string, bytes: number): void {
  mkdirSync(folder, { recursive: true });
  const descriptor = openSync(join(folder, name), "w");
  for (let written = 0, seed = 0; written < bytes; seed += 1) {
    written += writeSync(descriptor, logText(Math.min(4 * MIB, bytes - written), seed));
  }
  closeSync(descriptor);
}

/** Lines like those in the logs of web servers. */
function logText(bytes: number, seed: number): Buffer {
  const paths = ["/index.html", "/api/v1/orders", "/api/v1/customers", "/static/app.js", "/login", "/search?q=shoes"];
  let state = (seed + 1) * 2654435761;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  let text = "";
  for (let time = 1_790_000_000_000; text.length < bytes; time += random() % 50) {
    const address = `10.${random() % 256}.${random() % 256}.${random() % 256}`;
    const path = paths[random() % paths.length] ?? "";
    text += `${time} ${address} GET ${path}/${random().toString(36)} ${random() % 8 === 0 ? 404 : 200} ${random() % 90000}\n`;
  }
  return Buffer.from(text.slice(0, bytes), "latin1");
}

function writeBelow(folder: string, name: string, contents: Buffer): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
}

/** Throws unless both folders have the same files with the same contents. */
export function requireSameFiles(expected: string, actual: string): void {
  const [names, found] = [listFiles(expected), listFiles(actual)];
  if (names.length !== found.length) throw new Error(`${found.length} files instead of ${names.length}`);
  for (const [index, name] of names.entries()) {
    if (found[index] !== name) throw new Error(`${found[index]} instead of ${name}`);
    requireSameContents(join(expected, name), join(actual, name));
  }
}

function requireSameContents(expected: string, actual: string): void {
  const { size } = statSync(expected);
  if (statSync(actual).size !== size) throw new Error(`${actual}: ${statSync(actual).size} bytes instead of ${size}`);
  const descriptors = [openSync(expected, "r"), openSync(actual, "r")] as const;
  const parts = [Buffer.alloc(Math.min(size, MIB)), Buffer.alloc(Math.min(size, MIB))] as const;
  for (let offset = 0; offset < size; offset += MIB) {
    const length = Math.min(MIB, size - offset);
    descriptors.forEach((descriptor, side) => readSync(descriptor, parts[side] ?? Buffer.alloc(0), 0, length, offset));
    if (!parts[0].equals(parts[1]))
      throw new Error(`${actual}: other contents between ${offset} and ${offset + length}`);
  }
  descriptors.forEach((descriptor) => closeSync(descriptor));
}
