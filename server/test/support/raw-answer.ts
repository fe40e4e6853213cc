import { connect } from "node:net";
import { buffer } from "node:stream/consumers";

/** What somebody on this machine answers to these bytes before it closes; a reset is an end, too. */
export async function answerTo(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.write(bytes);
  try {
    return await buffer(socket);
  } catch {
    return Buffer.alloc(0);
  }
}
