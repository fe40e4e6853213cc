import type { Config } from "./config.ts";
import { endPortHolder, holdPort, type HeldPort } from "./processes/port-holder/port-holder.ts";
import { unavailableResponse } from "./http/error-body.ts";
import type { ListeningSocket } from "./http/listen.ts";
import type { Log } from "./lib/log.ts";

/** The port of the server, from before it can serve until everything else has stopped. */
export interface OpenedPort {
  /** Undefined if the server must bind the port itself. Throws if the port cannot be opened. */
  sockets(): Promise<readonly ListeningSocket[] | undefined>;
  /** To be called when the server has started to serve, and before it stops serving. */
  serve(isServing: boolean): Promise<void>;
  release(): Promise<void>;
}

/**
 * Returns at once and opens the port in the background. `given` are the sockets that systemd holds for us. A free port
 * (0) is not held, because clients of the next server would not look for it there.
 */
export function openPort(config: Config, given: readonly ListeningSocket[], log: Log): OpenedPort {
  const { dataDir, host, port } = config;
  const isHeld = given.length === 0 && port !== 0;
  const held = isHeld
    ? holdPort({ dataDir, host, port, answer: unavailableResponse(), log })
    : endPortHolder(dataDir).then(() => undefined);
  const heldOrNone = (): Promise<HeldPort | undefined> => held.catch(() => undefined);
  void heldOrNone(); // a failure is reported by `sockets`, which may be called later
  return {
    async sockets() {
      const opened = await held;
      if (isHeld && opened === undefined) log.warn(NOT_HELD);
      return given.length > 0 ? given : opened?.sockets;
    },
    serve: async (isServing) => (await heldOrNone())?.serve(isServing),
    release: async () => (await heldOrNone())?.release(),
  };
}

const NOT_HELD =
  "Python 3.10 or newer is not available, so no process holds the port: while the server is stopped, a program of a " +
  "command that still runs could listen on it";
