import { connect } from "node:net";

/**
 * The first words of a connection to a metastore (Thrift, binary, strict): `set_ugi(user, [secret])`. Whether it answers
 * them tells that it lives, and that it knows the secret.
 */
export async function isGreeted(port: number, secret: string, signal: AbortSignal): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port, signal });
  try {
    socket.write(renderGreeting("headgate", secret));
    for await (const chunk of socket) return startsReply(chunk as Buffer); // a socket without encoding gives buffers
    return false;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

const version = 0x80010000;
const messageType = { call: 1, reply: 2 } as const;
const fieldType = { stop: 0, string: 11, list: 15 } as const;
const method = "set_ugi";

export function renderGreeting(user: string, secret: string): Buffer {
  return Buffer.concat([
    uint32(version + messageType.call),
    string(method),
    uint32(0),
    field(fieldType.string, 1),
    string(user),
    field(fieldType.list, 2),
    Buffer.of(fieldType.string),
    uint32(1),
    string(secret),
    Buffer.of(fieldType.stop),
  ]);
}

function startsReply(bytes: Buffer): boolean {
  return bytes.subarray(0, 4).equals(uint32(version + messageType.reply));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function field(type: number, id: number): Buffer {
  return Buffer.of(type, 0, id);
}
