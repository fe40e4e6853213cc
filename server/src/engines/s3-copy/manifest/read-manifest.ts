import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { CopyError } from "../copy-error.ts";
import { parseEntry, type ManifestEntry } from "./manifest-entry.ts";

/** A manifest comes from users, so it may be a decompression bomb. */
export interface ManifestLimits {
  readonly lineBytes: number;
  readonly totalBytes: number;
  /** Decompressed bytes for each compressed one, beyond `freeBytes`. */
  readonly ratio: number;
  readonly freeBytes: number;
}

const GIB = 1024 ** 3;
/** The ratio is generous: paths that differ only in a number compress to a fiftieth. */
const defaultLimits: ManifestLimits = {
  lineBytes: 64 * 1024,
  totalBytes: 16 * GIB,
  ratio: 250,
  freeBytes: 64 * 1024 ** 2,
};
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Reads a manifest from its compressed bytes: gzip, one JSON object per line. Empty lines are skipped. */
export async function* readManifest(
  compressed: AsyncIterable<Uint8Array>,
  limits: ManifestLimits = defaultLimits,
): AsyncGenerator<ManifestEntry> {
  let lineNumber = 0;
  for await (const lines of splitLines(decompress(compressed, limits), limits.lineBytes)) {
    for (const line of lines) {
      lineNumber += 1;
      if (line.trim() === "") continue;
      const entry = parseEntry(line);
      if (typeof entry === "string") throw new CopyError(`Line ${lineNumber} of the manifest ${entry}.`);
      yield entry;
    }
  }
}

async function* decompress(compressed: AsyncIterable<Uint8Array>, limits: ManifestLimits): AsyncGenerator<Buffer> {
  let [bytesIn, bytesOut] = [0, 0];
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of compressed) {
      bytesIn += chunk.length;
      yield chunk;
    }
  }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let sourceError: Error | undefined;
  pipeline(counted, gunzip, (error) => {
    sourceError = error ?? undefined; // the iteration below throws it
  });
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytesOut += chunk.length;
      if (bytesOut > limits.totalBytes || bytesOut > limits.freeBytes + limits.ratio * bytesIn) {
        throw new CopyError("The manifest is too large when it is decompressed.");
      }
      yield chunk;
    }
  } catch (error) {
    if (isZlibError(error)) throw new CopyError("The manifest is not a complete gzip file.", { cause: error });
    throw sourceError ?? error;
  }
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
}

/** Yields the lines of each chunk together. */
async function* splitLines(chunks: AsyncIterable<Buffer>, limitBytes: number): AsyncGenerator<string[]> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = text.lastIndexOf(NEWLINE) + 1;
    const lines = end === 0 ? [] : decode(text.subarray(0, end - 1)).split("\n");
    rest = Buffer.from(text.subarray(end));
    if (rest.length > limitBytes || lines.some((line) => line.length > limitBytes)) {
      throw new CopyError(`The manifest has a line of more than ${limitBytes} bytes.`);
    }
    yield lines;
  }
  if (rest.length > 0) yield [decode(rest)];
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CopyError("The manifest is not UTF-8 text.", { cause: error });
  }
}
