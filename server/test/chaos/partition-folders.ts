/**
 * Serves the folders of the refreshed tables over WebHDFS, a store that looks the same to all nodes. Every table has
 * the same partitions. Answers take a while, so that faults sometimes strike while a refresh walks the folders.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

export interface PartitionFolders {
  /** For the account's `hdfs_http_address`. */
  readonly address: string;
  close(): void;
}

const DAYS = 3;
const HOURS = 4;
const ANSWER_MS = 150;

export const locationOf = (table: string): string => `hdfs://folders/tables/${table}`;

export function partitionNames(): string[] {
  return numbered(DAYS).flatMap((day) => numbered(HOURS).map((hour) => `day=${day}/hour=${hour}`));
}

export async function servePartitionFolders(): Promise<PartitionFolders> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://folders");
    const names = foldersBelow(decodeURIComponent(pathname).replace(/^\/webhdfs\/v1\/tables\/\w+\/?/, ""));
    void delay(ANSWER_MS).then(() => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(listingOf(names)));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server of the folders has no port");
  return {
    address: `http://127.0.0.1:${address.port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function foldersBelow(path: string): string[] {
  if (path === "") return numbered(DAYS).map((day) => `day=${day}`);
  return path.includes("/") ? [] : numbered(HOURS).map((hour) => `hour=${hour}`);
}

function listingOf(names: readonly string[]): object {
  const entries = names.map((pathSuffix) => ({ pathSuffix, type: "DIRECTORY", length: 0, modificationTime: 0 }));
  return { DirectoryListing: { partialListing: { FileStatuses: { FileStatus: entries } }, remainingEntries: 0 } };
}

const numbered = (count: number): number[] => [...Array(count).keys()];
