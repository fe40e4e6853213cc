import { expect, test, vi } from "vitest";
import { storeFault } from "../../db/store-fault.ts";
import { Fault } from "../../lib/fault.ts";
import type { OpenStorage } from "../../accounts/contract.ts";
import { accountRefresh } from "./refresh-account-table.ts";
import type { RefreshContext } from "../contract.ts";

const request = { accountId: 1, schema: "sales", table: "daily", stableMinutes: null };
const away = (): unknown => storeFault(Object.assign(new Error("connect ENOENT"), { code: "ENOENT" }));

/** A refresh of a missing table; `open` imitates the first access to the store. */
async function refresh(open: () => Promise<OpenStorage>): Promise<void> {
  const table = (): Promise<undefined> => Promise.resolve(undefined);
  const refreshes = accountRefresh({
    storage: { open },
    accountTables: { of: () => Promise.resolve({ table } as never) },
    openTablePartitions: () => Promise.reject(new Error("there is no table to open")),
  });
  await refreshes(request, { signal: new AbortController().signal } as RefreshContext);
}

const storage = { store: { close: () => Promise.resolve() }, hasKeys: false, hdfsHttpAddress: null } as OpenStorage;

test("a refresh waits for a store that is unavailable when it starts", async () => {
  const open = vi.fn<() => Promise<OpenStorage>>();
  open.mockRejectedValueOnce(away()).mockRejectedValueOnce(away()).mockResolvedValue(storage);
  await expect(refresh(open)).rejects.toThrow("sales.daily is not in the metastore");
  expect(open).toHaveBeenCalledTimes(3);
});

test.each([
  new Error("no such keys"),
  new Fault("unavailable", "the account's own metastore is unavailable", {
    cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
  }),
])("a refresh fails at once for any other reason: $message", async (reason) => {
  const open = vi.fn<() => Promise<OpenStorage>>().mockRejectedValue(reason);
  await expect(refresh(open)).rejects.toThrow(reason);
  expect(open).toHaveBeenCalledTimes(1);
});
