/**
 * A node that loses contact with the other nodes must stop the programs that they will start again. It renews its lease
 * file while it has contact; a runner whose lease is older than the limit ends its program. Times are monotonic
 * (`monotonic.ts`), so neither a changed wall clock nor a runner that was suspended makes a difference.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { readFields } from "./json-fields.ts";
import { monotonicMs } from "./monotonic.ts";
import { protocolVersion } from "./protocol.ts";

interface Lease {
  readonly bootId: string;
  readonly renewedAtMs: number;
}

const sizeBytes = 512;

/**
 * `renewedAtMs` is a time before the request that proved the contact. The same bytes are overwritten in place, so that
 * leases can be renewed on a full disk. The time is written twice, so that a reader detects a half-written lease.
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

/** `ageMs` is Infinity until a lease from the current boot was seen. */
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
    // Older versions replaced the file and wrote the time once.
    if (fields.number("renewedAtMsAgain", renewedAtMs) !== renewedAtMs) return undefined;
    return { bootId: fields.string("bootId"), renewedAtMs };
  } catch {
    return undefined; // the last known lease stays valid until it is too old
  }
}

const beatEveryMs = 1000;

/** Shows runners that the server is alive, until it is stopped or killed. Unlike a lease, this needs no database. */
export function renewPresence(path: string, bootId: string): { stop(): void } {
  const beat = (): void => {
    try {
      writeLease(path, { bootId, renewedAtMs: monotonicMs() });
    } catch {
      // The next beat may succeed; runners wait for minutes.
    }
  };
  beat();
  const timer = setInterval(beat, beatEveryMs).unref();
  return { stop: () => clearInterval(timer) };
}
