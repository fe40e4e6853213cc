import { join } from "node:path";
import { ConnectServer } from "../../engines/connect-server/connect-server.ts";
import { listFolder } from "../../lib/list-folder.ts";

/** Each of an account's warm servers has a folder in it. */
export function serversFolder(dataDir: string, accountId: string): string {
  return join(dataDir, "accounts", accountId, "spark");
}

/**
 * Ends the warm servers of an account. A process other than the server may call it: the server notices their end.
 * Returns how many ran.
 */
export async function endServersOf(dataDir: string, accountId: number): Promise<number> {
  const folder = serversFolder(dataDir, String(accountId));
  let ended = 0;
  for (const name of await listFolder(folder)) {
    const server = new ConnectServer(join(folder, name));
    if (await server.isAlive()) ended += 1;
    await server.stop();
  }
  return ended;
}
