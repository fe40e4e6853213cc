import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/**
 * What a whole test run shares and only some files need. The run's main process owns it; test files, which are processes
 * of their own, ask for it over a socket, and the first one that asks starts it.
 */
export interface OnDemand {
  readonly socket: string;
  stop(): Promise<void>;
}

export interface Started<Shared> {
  /** What test files are told, as JSON. */
  readonly shared: Shared;
  stop(): Promise<void>;
}

/** For the global set-up. `start` is given a folder that is there until the end. */
export function serveOnDemand<Shared>(name: string, start: (folder: string) => Promise<Started<Shared>>): OnDemand {
  const folder = mkdtempSync(join(tmpdir(), `headgate-${name}-`));
  chmodSync(folder, 0o711); // as root Spark runs under the account's uid
  let started: Promise<Started<Shared>> | undefined;
  const server = createServer((socket) => {
    started ??= start(folder);
    started.then(
      ({ shared }) => socket.end(JSON.stringify({ shared })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    );
  });
  const socket = join(folder, "socket");
  server.listen(socket).unref();
  return {
    socket,
    async stop() {
      server.close();
      await started?.then(
        (running) => running.stop(),
        () => undefined,
      );
      rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
}

/** For a test file: what the owner has started, after a start when it is the first to ask. */
export async function askFor<Shared>(socket: string, name: string): Promise<Shared> {
  const answer = JSON.parse(await text(connect(socket))) as { shared: Shared } | { error: string }; // see above
  if ("error" in answer) throw new Error(`${name} did not start: ${answer.error}`);
  return answer.shared;
}
