import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";
import { hdfsStore, type HdfsStore, type HdfsStoreOptions } from "../../src/object-store/hdfs/hdfs-store.ts";

/** Answers a request for a WebHDFS operation; empty for none. */
export type Serve = (request: IncomingMessage, response: ServerResponse, operation: string) => void;

export interface ScriptedWebHdfs {
  /** Starts a server and resolves to its address. */
  readonly listen: (serve: Serve) => Promise<string>;
  /** A store without retries, unless they are given. */
  readonly storeAt: (address: string, changes?: Partial<HdfsStoreOptions>) => HdfsStore;
}

/** Servers whose every answer the test decides, and stores that use them. All are closed after each test. */
export function useScriptedWebHdfs(): ScriptedWebHdfs {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });
  return {
    async listen(serve) {
      const server = createServer((request, response) => {
        serve(request, response, new URL(request.url ?? "", "http://here").searchParams.get("op") ?? "");
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      opened.push({ close: () => server.closeAllConnections() }, server);
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
    },
    storeAt(address, changes = {}) {
      const store = hdfsStore({ address, user: "us", checkAddress: () => null, retries: 0, ...changes });
      opened.push({ close: () => store.close() });
      return store;
    },
  };
}

export const status = (changes: Record<string, unknown> = {}): string =>
  JSON.stringify({ FileStatus: { pathSuffix: "", type: "FILE", length: 5, modificationTime: 1, ...changes } });
export const remote = (exception: string): string =>
  JSON.stringify({ RemoteException: { exception, message: "secret" } });
