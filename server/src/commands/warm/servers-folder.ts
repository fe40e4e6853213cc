import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ConnectServer } from "../../engines/connect-server/connect-server.ts";

/** Each of an account's warm servers has a folder in it. */
export function serversFolder(dataDir: string, accountId: string): string {
  return join(dataDir, "accounts", accountId, "spark");
}

/** Of an account, also from outside of the server that has started them: it sees that they are gone. */
export async function endServersOf(dataDir: string, accountId: number): Promise<void> {
  const folder = serversFolder(dataDir, String(accountId));
  const names = await readdir(folder).catch(() => []);
  for (const name of names) await new ConnectServer(join(folder, name)).stop();
}
