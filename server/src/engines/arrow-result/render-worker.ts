/**
 * Entry point of a render thread. It keeps many renderings open and produces one chunk per request, so a slow reader
 * does not delay the others. Only the rendering that was used last holds a batch in memory.
 */
import { parentPort } from "node:worker_threads";
import { openRendering, type Rendering } from "./rendering.ts";
import type { RenderReply, RenderRequest } from "./render-thread.ts";

const port = parentPort;
if (port === null) throw new Error("render-worker.ts must run in a worker thread");

const open = new Map<number, Rendering | { readonly failed: unknown }>();
let holder: Rendering | undefined;

port.on("message", (request: RenderRequest) => {
  switch (request.kind) {
    case "open":
      open.set(request.id, attempt(request));
      return;
    case "close":
      close(request.id);
      return;
    case "next":
    case "count":
      reply(handle(request));
  }
});

function attempt({ spool, options }: RenderRequest & { kind: "open" }): Rendering | { failed: unknown } {
  try {
    return openRendering(spool, options);
  } catch (error) {
    return { failed: error };
  }
}

function handle(request: RenderRequest & { kind: "next" | "count" }): RenderReply {
  const { id } = request;
  const rendering = open.get(id);
  try {
    if (rendering === undefined) throw new Error("the rendering is closed");
    if ("failed" in rendering) return { kind: "failed", id, error: rendering.failed };
    if (holder !== rendering) holder?.release();
    holder = rendering;
    if (request.kind === "next") return { kind: "chunk", id, ...rendering.next() };
    return { kind: "count", id, bytes: rendering.countRest(request.limit) };
  } catch (error) {
    return { kind: "failed", id, error };
  }
}

function reply(message: RenderReply): void {
  port?.postMessage(message, message.kind === "chunk" ? [message.bytes.buffer] : []);
}

function close(id: number): void {
  const rendering = open.get(id);
  open.delete(id);
  if (rendering === undefined || "failed" in rendering) return;
  if (holder === rendering) holder = undefined;
  rendering.close();
}
