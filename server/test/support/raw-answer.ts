import { connect } from "node:net";
import { buffer } from "node:stream/consumers";

/** The response of a local server to these bytes until it closes or resets the connection. */
export async function answerTo(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.write(bytes);
  try {
    return await buffer(socket);
  } catch {
    return Buffer.alloc(0);
  }
}
