import { expect } from "vitest";
import type { Client, Reply } from "./client.ts";

/** Two paths admit the same callers, and refuse the same requests with the same words. */
export async function expectSameRefusals(
  callers: readonly Client[],
  method: string,
  paths: readonly [string, string],
  body?: unknown,
): Promise<void> {
  for (const caller of callers) {
    const [one, other] = [
      await caller.call(method, paths[0], body).reply(),
      await caller.call(method, paths[1], body).reply(),
    ];
    expect(refusalOf(one)).toEqual(refusalOf(other));
  }
}

function refusalOf({ status, text }: Reply): [number, string] {
  return [status, status === 200 ? "" : text];
}
