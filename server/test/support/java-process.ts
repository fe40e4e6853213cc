import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConnectServer } from "../../src/engines/connect-server/connect-server.ts";
import { Metastore } from "../../src/engines/hive-metastore/metastore.ts";
import { listProcessLinks } from "../../src/lib/process-table.ts";

/** Of a sandbox whose first process is known: the JVM in it. */
export async function javaBelow(first: number | null): Promise<number> {
  const all = await listProcessLinks();
  let pid = first ?? 0;
  for (;;) {
    if (all.find((each) => each.pid === pid)?.name === "java") return pid;
    const child = all.find((each) => each.parentPid === pid);
    if (child === undefined) throw new Error("no JVM");
    pid = child.pid;
  }
}

/** The one process of an account's metastore. */
export function metastoreOf(dataDir: string, accountId: number): Metastore {
  return new Metastore(only(join(dataDir, "accounts", String(accountId), "metastore"), /^process-/));
}

/** Where the account's metastore listens, and what it wants to be shown. */
export async function metastoreEntry(dataDir: string, accountId: number): Promise<{ port: number; secret: string }> {
  const metastore = metastoreOf(dataDir, accountId);
  const properties = readFileSync(join(metastore.folder, "input/metastore.properties"), "utf8");
  const [, secret = ""] = /^headgate\.secret=(\S+)$/m.exec(properties) ?? [];
  return { port: (await metastore.port()) ?? 0, secret };
}

/** The one warm server of an account. */
export function warmServerOf(dataDir: string, accountId: number): ConnectServer {
  return new ConnectServer(only(join(dataDir, "accounts", String(accountId), "spark"), /./));
}

function only(folder: string, name: RegExp): string {
  const [found, ...more] = readdirSync(folder).filter((each) => name.test(each));
  if (found === undefined || more.length > 0) throw new Error(`${more.length + 1} or none in ${folder}`);
  return join(folder, found);
}
