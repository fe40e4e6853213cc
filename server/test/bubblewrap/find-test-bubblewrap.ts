import { inject } from "vitest";
import type { Identity } from "../../src/processes/sandbox/confined-program.ts";
import { findBubblewrap, type BubblewrapSearch } from "../../src/processes/sandbox/find-bubblewrap.ts";

/**
 * Finds the system's bubblewrap, or the one that the set-up of the test run fetched. Prints why tests of isolation are
 * skipped.
 */
export async function findTestBubblewrap(identity: Identity | undefined): Promise<BubblewrapSearch> {
  const found = await findBubblewrap(identity, inject("postgres").cacheDir);
  // eslint-disable-next-line no-console -- a test that is skipped says why
  if (found.kind !== "usable") console.warn(`isolation cannot be tested here: ${found.reason}`);
  return found;
}
