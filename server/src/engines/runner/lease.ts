import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { readFields } from "./fields.ts";
import { monotonicMs } from "./monotonic.ts";
import { protocolVersion } from "./protocol.ts";

/**
 * A node that loses touch with the others may not go on running what they will start again. It writes into its lease
 * file when it last knew that it belongs; a runner whose lease is older than its limit ends its program. Times are
 * the machine's own (`monotonic.ts`): a clock that is set, or a runner that was stopped meanwhile, changes nothing.
 */
export interface Lease {
  readonly bootId: string;
  readonly renewedAtMs: number;
}

const sizeBytes = 512;

/**
 * `renewedAtMs`: before the question was asked that the answer renews. Always the same bytes of one file, so that a disk
 * that has become full ends no lease; whoever reads while it is written sees two times that differ.
 */
export function writeLease(path: string, { bootId, renewedAtMs }: Lease): void {
  const text = JSON.stringify({ version: protocolVersion, renewedAtMs, bootId, renewedAtMsAgain: renewedAtMs });
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(descriptor, text.padEnd(sizeBytes), 0);
  } finally {
    closeSync(descriptor);
  }
}

/** Follows the file. `ageMs` is Infinity until a lease of this start of the machine was seen. */
export function followLease(path: string, bootId: string): { ageMs(): number } {
  let renewedAtMs = -Infinity;
  return {
    ageMs() {
      const lease = readLease(path);
      if (lease?.bootId === bootId) renewedAtMs = lease.renewedAtMs;
      return monotonicMs() - renewedAtMs;
    },
  };
}

function readLease(path: string): Lease | undefined {
  try {
    const fields = readFields(readFileSync(path, "utf8"));
    const renewedAtMs = fields.number("renewedAtMs");
    // Older writers replaced the file and wrote the time once.
    if (fields.number("renewedAtMsAgain", renewedAtMs) !== renewedAtMs) return undefined;
    return { bootId: fields.string("bootId"), renewedAtMs };
  } catch {
    return undefined; // what was known stays true and grows old
  }
}
