import { readdirSync } from "node:fs";
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

/** The one warm server of an account. */
export function warmServerOf(dataDir: string, accountId: number): ConnectServer {
  return new ConnectServer(only(join(dataDir, "accounts", String(accountId), "spark"), /./));
}

function only(folder: string, name: RegExp): string {
  const [found, ...more] = readdirSync(folder).filter((each) => name.test(each));
  if (found === undefined || more.length > 0) throw new Error(`${more.length + 1} or none in ${folder}`);
  return join(folder, found);
}
