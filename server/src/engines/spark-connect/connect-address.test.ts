import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:tls";
import { afterEach, expect, it } from "vitest";
import { scriptConnect } from "../../../test/support/scripted-connect.ts";
import { openConnect, type ConnectChannel } from "./spark-connect.ts";

/** No resolver knows it: who gets anywhere has not asked one. */
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

it("is the one that was given, whatever the name leads to", async () => {
  const scripted = await scriptConnect([]);
  channel = openConnect({ host, address, port: scripted.port, sessionUser: "u" });
  await expect(channel.ping()).resolves.toBeUndefined();
  scripted.stop();
});

it("takes the name along in TLS, for which the certificate has to be", async () => {
  const names: string[] = [];
  const port = await portOf(createServer({ SNICallback: (name, done) => (names.push(name), done(new Error("seen"))) }));
  channel = openConnect({ host, address, port, tls: true, sessionUser: "u" });
  channel.ping().catch(() => undefined); // it has no certificate
  await expect.poll(() => names[0]).toBe(host);
});
