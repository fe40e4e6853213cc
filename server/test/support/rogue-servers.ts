/** Servers on the port of another one, which try to learn its clients' secrets. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";

interface RogueServer {
  readonly port: number;
  /** The bytes that clients have sent, as Latin-1. */
  readonly received: readonly string[];
  stop(): Promise<void>;
}

/** Its proof that it knows the shared secret is wrong. */
export function startRogueMetastore(): Promise<RogueServer> {
  return startRogue(0, (socket) => {
    socket.write(saslMessage(2, 'realm="default",nonce="bm9uY2U=",qop="auth",charset=utf-8,algorithm=md5-sess'));
    socket.write(saslMessage(5, `rspauth=${"0".repeat(32)}`));
  });
}

export interface RoguePostgres extends RogueServer {
  /** What clients have sent that were let in without a password. */
  readonly afterWelcome: readonly string[];
}

/** Asks every second client for its password and lets the others in. */
export async function startRoguePostgres(port: number): Promise<RoguePostgres> {
  const afterWelcome: string[] = [];
  const asked = new WeakMap<Socket, boolean>();
  let connections = 0;
  const rogue = await startRogue(port, (socket, text) => {
    const isFirst = !asked.has(socket);
    if (isFirst) asked.set(socket, (connections += 1) % 2 === 0);
    const asksForPassword = asked.get(socket) === true;
    if (!isFirst && !asksForPassword) afterWelcome.push(text);
    socket.write(asksForPassword ? ASK_FOR_PASSWORD : WELCOME);
  });
  return { ...rogue, afterWelcome };
}

async function startRogue(
  wantedPort: number,
  answer: (socket: Socket, received: string) => void,
): Promise<RogueServer> {
  const received: string[] = [];
  const server = createServer((socket) => {
    socket
      .on("error", () => undefined)
      .on("data", (chunk) => {
        const text = chunk.toString("latin1");
        received.push(text);
        answer(socket, text);
      });
  });
  await once(server.listen(wantedPort, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    port,
    received,
    async stop() {
      await once(server.close(), "close");
    },
  };
}

function saslMessage(status: number, text: string): Buffer {
  const head = Buffer.from([status, 0, 0, 0, 0]);
  head.writeUInt32BE(text.length, 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** Messages in PostgreSQL's protocol. */
const ASK_FOR_PASSWORD = Buffer.from("520000000800000003", "hex");
const WELCOME = Buffer.concat([
  Buffer.from("520000000800000000", "hex"), // AuthenticationOk
  ...["server_version\x0017.0\0", "client_encoding\0UTF8\0"].map((status) =>
    Buffer.concat([Buffer.from([0x53, 0, 0, 0, status.length + 4]), Buffer.from(status)]),
  ),
  Buffer.from("5a0000000549", "hex"), // ReadyForQuery
]);
