import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll } from "vitest";

/** A server that answers as WebHDFS does, for tests that need HDFS to misbehave. `test:full` has a real HDFS. */
export interface MemoryHdfs {
  /** The account's `hdfs`. */
  readonly account: { readonly address: string; readonly user: string };
  readonly files: Map<string, MemoryFile>;
  readonly folders: Set<string>;
  /** Called before each request is answered. */
  onRequest: (operation: string, path: string) => unknown;
  put(path: string, text: string, modifiedMs?: number): void;
}

interface MemoryFile {
  readonly bytes: Buffer;
  readonly modifiedMs: number;
}

export function useMemoryHdfs(): MemoryHdfs {
  const files = new Map<string, MemoryFile>();
  const account = { address: "", user: "us" };
  const put = (path: string, text: string, modifiedMs = 1): void =>
    void files.set(path, { bytes: Buffer.from(text), modifiedMs });
  const hdfs: MemoryHdfs = { account, files, folders: new Set(), onRequest: () => undefined, put };
  const server = createServer((request, response) => {
    void answer(hdfs, request, response).catch(() => request.socket.destroy());
  });
  beforeAll(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    account.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
  });
  afterAll(() => server.close().closeAllConnections());
  return hdfs;
}

async function answer(hdfs: MemoryHdfs, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { account, files } = hdfs;
  const { pathname, searchParams: query, search } = new URL(request.url ?? "", account.address);
  const path = decodeURIComponent(pathname.replace("/webhdfs/v1", ""));
  const operation = query.get("op") ?? "";
  await hdfs.onRequest(operation, path);
  const json = (document: unknown): unknown => response.end(JSON.stringify(document));
  const missing = (): unknown => {
    response.statusCode = 404;
    return json({ RemoteException: { exception: "FileNotFoundException" } });
  };
  const file = files.get(path);
  switch (operation) {
    case "GETFILESTATUS":
      return void (file === undefined && !isFolder(hdfs, path) ? missing() : json({ FileStatus: statusOf("", file) }));
    case "LISTSTATUS_BATCH": {
      if (!isFolder(hdfs, path)) return void missing();
      const FileStatuses = { FileStatus: entriesOf(hdfs, path) };
      return void json({ DirectoryListing: { partialListing: { FileStatuses }, remainingEntries: 0 } });
    }
    case "OPEN": {
      const offset = Number(query.get("offset"));
      return void (file === undefined
        ? missing()
        : response.end(file.bytes.subarray(offset, offset + Number(query.get("length")))));
    }
    case "CREATE": {
      if (!query.has("data")) {
        response.writeHead(307, { location: `${account.address}${pathname}${search}&data=true` }).end();
        return;
      }
      files.set(path, { bytes: Buffer.alloc(0), modifiedMs: 0 }); // HDFS shows a file while it is written
      files.set(path, { bytes: await buffer(request), modifiedMs: 1 });
      response.writeHead(201).end();
      return;
    }
    case "RENAME":
      if (file !== undefined) files.set(query.get("destination") ?? "", file);
      return void json({ boolean: files.delete(path) });
    default:
      return void json({ boolean: files.delete(path) });
  }
}

function isFolder({ files, folders }: MemoryHdfs, path: string): boolean {
  const base = path === "/" ? path : `${path}/`;
  return folders.has(path) || [...files.keys(), ...folders].some((name) => name.startsWith(base));
}

function entriesOf(hdfs: MemoryHdfs, path: string): unknown[] {
  const base = path === "/" ? path : `${path}/`;
  const below = [...hdfs.files.keys(), ...hdfs.folders].filter((name) => name.startsWith(base));
  const names = new Set(below.map((name) => name.slice(base.length).split("/", 1)[0] ?? ""));
  return [...names].sort().map((name) => statusOf(name, hdfs.files.get(`${base}${name}`)));
}

function statusOf(pathSuffix: string, file: MemoryFile | undefined): unknown {
  const { bytes, modifiedMs } = file ?? { bytes: Buffer.alloc(0), modifiedMs: 0 };
  const type = file === undefined ? "DIRECTORY" : "FILE";
  return { pathSuffix, type, length: bytes.length, modificationTime: modifiedMs };
}
