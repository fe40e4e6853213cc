import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { renderCall } from "../../src/engines/hive-thrift/codec/message.ts";
import { setUgi } from "../../src/engines/hive-thrift/hive-functions.ts";
import type { TestMetastore } from "./test-metastore.ts";

/** A relay to one of our metastores that needs no secret, like an external metastore. */
export interface OpenMetastore {
  /** For the account's `metastore_uri`. */
  readonly uri: string;
  close(): Promise<void>;
}

export async function openToAll(metastore: Pick<TestMetastore, "port" | "secret">): Promise<OpenMetastore> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(metastore.port, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    upstream.write(renderCall(setUgi, 0, { userName: "relay", groupNames: [metastore.secret] }));
    // The response to our handshake.
    upstream.once("data", () => {
      upstream.pipe(client);
      client.pipe(upstream);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the relay has no port");
  return {
    uri: `thrift://127.0.0.1:${address.port}`,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
