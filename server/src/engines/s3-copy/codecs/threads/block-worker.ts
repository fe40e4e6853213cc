import { parentPort } from "node:worker_threads";
import { CodecError } from "../blocks/codec-error.ts";
import { bytesOf, performBlockTask } from "./block-task.ts";
import type { BlockReply, BlockRequest } from "./block-threads.ts";

/** Entry point of a thread that works on blocks of LZO and snappy, one after the other. */
const port = parentPort;
if (port === null) throw new Error("block-worker.ts must run in a worker thread");

port.on("message", ({ id, task }: BlockRequest) => {
  const reply = perform(id, task);
  port.postMessage(reply, "bytes" in reply ? [reply.bytes.buffer as ArrayBuffer] : []);
  // Frees the memory of the task now; the garbage collector would let 64 MiB of it accumulate.
  const memory = bytesOf(task).buffer as ArrayBuffer;
  if (!memory.detached) memory.transfer(0);
});

function perform(id: number, task: BlockRequest["task"]): BlockReply {
  try {
    return { id, bytes: performBlockTask(task) };
  } catch (error) {
    if (error instanceof CodecError) return { id, damage: error.message };
    throw error;
  }
}
