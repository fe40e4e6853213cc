import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, inject } from "vitest";
import { Client } from "./client.ts";
import { operatorClient, startHeadgate, type HeadgateProcess, type Manner } from "./headgate-process.ts";

/** A whole Headgate with its own database, keys and settings, which runs programs with the stub driver. */
export interface Installation {
  readonly base: string;
  readonly dataDir: string;
  readonly headgate: HeadgateProcess;
  readonly operator: Client;
  /** For a restart of this installation. */
  readonly settings: Record<string, string>;
  end(): Promise<void>;
  /** Removes the files of a stopped installation. */
  readonly remove: () => void;
}

export const stubEntry = fileURLToPath(new URL("stub-headgate.ts", import.meta.url));

export async function install(
  { identity, ...manner }: Manner,
  settings: Record<string, string> = {},
): Promise<Installation> {
  const base = mkdtempSync(join(inject("outsideTmp"), "installation-"));
  chmodSync(base, 0o711);
  const config = join(base, "headgate.env");
  writeFileSync(config, "HEADGATE_RATE_LIMIT=0\nHEADGATE_LOW_DISK=0\n", { mode: 0o600 });
  if (identity !== undefined) for (const path of [base, config]) chownSync(path, identity.uid, identity.gid);
  const dataDir = join(base, "data");
  const { cacheDir } = inject("postgres");
  const remove = (): void => rmSync(base, { recursive: true, force: true, maxRetries: 20 });
  const environment = {
    HEADGATE_CONFIG: config,
    HEADGATE_CACHE_DIR: cacheDir,
    HEADGATE_DATA_DIR: dataDir,
    HOME: base,
    CANARY: "canary",
    ...settings,
  };
  const headgate = await startHeadgate(dataDir, environment, {
    ...manner,
    ...(identity === undefined ? {} : { identity }),
    entry: stubEntry,
  }).catch((error: unknown) => {
    remove();
    throw error;
  });
  return {
    base,
    dataDir,
    headgate,
    operator: operatorClient(headgate, dataDir),
    settings: environment,
    remove,
    async end() {
      expect(await headgate.stop()).toBe(0);
      remove();
    },
  };
}

export async function secondAccount({
  headgate,
  operator,
}: Installation): Promise<{ account: Client; accountId: number }> {
  const { authentication_token: token, account_id: accountId } = await operator.post("/api/v2/accounts", {
    account: { name: "Second" },
  });
  return { account: new Client(headgate.url, token), accountId };
}
