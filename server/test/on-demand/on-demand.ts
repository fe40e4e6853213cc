/**
 * A server that a whole test run shares and only some files need. The run's main process owns it. Test files, which are
 * separate processes, request it over a socket, and the first request starts it.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

export interface OnDemand {
  readonly socket: string;
  stop(): Promise<void>;
}

export interface Started<Shared> {
  /** The details that test files get, as JSON. */
  readonly shared: Shared;
  stop(): Promise<void>;
}

/** For the global set-up. `start` gets a folder that exists until the end. */
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

/** For a test file: returns the details, after a start if this is the first request. */
export async function askFor<Shared>(socket: string, name: string): Promise<Shared> {
  const answer = JSON.parse(await text(connect(socket))) as { shared: Shared } | { error: string }; // see above
  if ("error" in answer) throw new Error(`${name} did not start: ${answer.error}`);
  return answer.shared;
}
