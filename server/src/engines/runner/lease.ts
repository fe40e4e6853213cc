import { readFileSync, renameSync, writeFileSync } from "node:fs";
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

/** `renewedAtMs`: before the question was asked that the answer renews. */
export function writeLease(path: string, lease: Lease): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, JSON.stringify({ version: protocolVersion, ...lease }), { mode: 0o600 });
  renameSync(temporary, path);
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
    return { bootId: fields.string("bootId"), renewedAtMs: fields.number("renewedAtMs") };
  } catch {
    return undefined; // what was known stays true and grows old
  }
}
