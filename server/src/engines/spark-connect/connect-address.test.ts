import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:tls";
import { afterEach, expect, it } from "vitest";
import { scriptConnect } from "../../../test/support/scripted-connect.ts";
import { openConnect, type ConnectChannel } from "./spark-connect.ts";

/** Not resolvable, so a successful connection proves that the name was not resolved. */
const host = "spark.invalid";
const address = "127.0.0.1";

let server: Server | undefined;
let channel: ConnectChannel | undefined;
afterEach(() => {
  channel?.close();
  server?.close();
});

async function portOf(listening: Server): Promise<number> {
  server = listening;
  await once(listening.listen(0, address), "listening");
  return (listening.address() as AddressInfo).port; // a TCP server that listens has one
}

it("is used without resolving the host's name", async () => {
  const scripted = await scriptConnect([]);
  channel = openConnect({ host, address, port: scripted.port, sessionUser: "u" });
  await expect(channel.ping()).resolves.toBeUndefined();
  scripted.stop();
});

it("still sends the host's name in TLS, because the certificate is for that name", async () => {
  const names: string[] = [];
  const port = await portOf(createServer({ SNICallback: (name, done) => (names.push(name), done(new Error("seen"))) }));
  channel = openConnect({ host, address, port, tls: true, sessionUser: "u" });
  channel.ping().catch(() => undefined); // it has no certificate
  await expect.poll(() => names[0]).toBe(host);
});

it("is not taken for a Spark server if another HTTP/2 server answers there", async () => {
  const web = createHttp2Server((_, response) => response.writeHead(404, { "content-type": "text/html" }).end());
  channel = openConnect({ host, address, port: await portOf(web), sessionUser: "u" });
  await expect(channel.ping()).rejects.toThrow("404");
});
