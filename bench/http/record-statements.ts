import { pino } from "pino";
import type { ClientConfig } from "pg";
import { recordAudit } from "../../server/src/access/audit/store.ts";
import { authenticate } from "../../server/src/access/store.ts";
import { insertWhitelistedIp } from "../../server/src/access/whitelist/store.ts";
import { readAccount } from "../../server/src/accounts/store/account.ts";
import { openDatabase, type Tx } from "../../server/src/db/database.ts";
import { attachStore } from "../../server/src/db/open-store.ts";

/** A statement that the product's own store sends for an operation; the bare server sends the same. */
export interface Statement {
  text: string;
  values: readonly unknown[];
}

export interface BenchOperation {
  name: string;
  method: "GET" | "POST";
  path: string;
  identify: Statement;
  /** Runs before the transaction. The id that it returns replaces `RESERVED_ID` in the other statements. */
  reserve?: Statement;
  begin: string;
  statements: Statement[];
}

export const RESERVED_ID = -1;

export async function record(
  dataDir: string,
  token: string,
): Promise<{ connection: ClientConfig; operations: Record<string, BenchOperation> }> {
  const store = await attachStore({
    databaseUrl: null,
    dataDir,
    cacheDir: dataDir,
    log: pino({ level: "silent" }),
    progress: () => undefined,
  });
  const db = openDatabase({ ...store.connection, max: 1 });
  const known = await authenticate(db.system, token, { address: "127.0.0.1", requestId: "bench" }, []);
  await db.close();
  if (known === undefined) throw new Error("the token is unknown");
  const { caller } = known;
  const [identify] = await recorded((tx) => authenticate(tx, token, { address: "127.0.0.1", requestId: "bench" }, []));
  if (identify === undefined) throw new Error("no statement identifies the caller");
  const begin = `begin; set local role headgate_account; set local headgate.account_id = ${caller.accountId}`;

  const operations: Record<string, BenchOperation> = {
    view: {
      name: "GET account",
      method: "GET",
      path: "/api/v1.2/account",
      identify,
      begin,
      statements: await recorded((tx) => readAccount(tx)),
    },
    add: {
      name: "POST whitelist_ip",
      method: "POST",
      path: "/api/v1.2/whitelist_ip",
      identify,
      begin,
      statements: await recorded(async (tx) => {
        await insertWhitelistedIp(tx, caller.accountId, { cidr: "203.0.113.7/32", givenText: "203.0.113.7/32" });
        recordAudit(tx, caller, "whitelist_ip_add", "whitelisted_ip/203.0.113.7/32");
      }),
    },
  };
  return { connection: store.connection, operations };
}

/** Runs the store's function with a client that records the statements and returns no rows. */
export async function recorded(work: (tx: Tx) => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = [];
  const keep = (text: string, values: readonly unknown[] = []): void => {
    statements.push({ text, values });
  };
  await work({
    query: (text, values) => {
      keep(text, values);
      return Promise.resolve([]);
    },
    send: keep,
  }).catch(() => undefined); // the function may fail without rows; only its statements matter
  return statements;
}
