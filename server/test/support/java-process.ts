import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConnectServer } from "../../src/engines/connect-server/connect-server.ts";
import { Metastore } from "../../src/engines/hive-metastore/metastore.ts";
import { listProcessLinks } from "../../src/lib/process-table.ts";

/** The JVM in a sandbox, given the first process of the sandbox. */
export async function javaBelow(first: number | null): Promise<number> {
  const all = await listProcessLinks();
  let pid = first ?? 0;
  for (;;) {
    if (all.find((each) => each.pid === pid)?.name === "java") return pid;
    const child = all.find((each) => each.parentPid === pid);
    if (child === undefined) throw new Error("there is no JVM in the sandbox");
    pid = child.pid;
  }
}

/** The only process of an account's metastore. */
export function metastoreOf(dataDir: string, accountId: number): Metastore {
  return new Metastore(only(join(dataDir, "accounts", String(accountId), "metastore"), /^process-/));
}

/** Port and secret of the account's metastore. */
export async function metastoreEntry(dataDir: string, accountId: number): Promise<{ port: number; secret: string }> {
  const metastore = metastoreOf(dataDir, accountId);
  const properties = readFileSync(join(metastore.folder, "input/metastore.properties"), "utf8");
  const [, secret = ""] = /^headgate\.secret=(\S+)$/m.exec(properties) ?? [];
  return { port: (await metastore.port()) ?? 0, secret };
}

/** The only warm server of an account. */
export function warmServerOf(dataDir: string, accountId: number): ConnectServer {
  return new ConnectServer(only(join(dataDir, "accounts", String(accountId), "spark"), /./));
}

function only(folder: string, name: RegExp): string {
  const [found, ...more] = readdirSync(folder).filter((each) => name.test(each));
  if (found === undefined || more.length > 0) throw new Error(`${more.length + 1} or none in ${folder}`);
  return join(folder, found);
}
