import type { Log } from "../../lib/log.ts";

/**
 * What happens to commands, for whoever waits. Messages between nodes only make it quick: each wait also looks at the
 * rows, with one query for all waiters of a node.
 */
export interface CommandEvents {
  /** After a submission has been committed: something may be claimed. */
  wake(): void;
  /** After a cancel has been committed: the node that runs the command looks at it. */
  cancelled(commandId: number): void;
  /** Call it after the stop of an app has been committed: every node then checks its servers. */
  appStopped(): void;
  /**
   * Settles when the command has ended, the time is over or the signal is given; never fails. Whoever calls reads the
   * row again.
   */
  ended(commandId: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

/** For handlers: their services have it under this name. */
export interface WithCommandEvents {
  commandEvents: CommandEvents;
}

export interface CommandEventsOptions {
  /** Of those ids the ones that have ended. */
  findEnded: (commandIds: readonly number[]) => Promise<number[]>;
  /** Wakes the queue of this node. */
  poke: () => void;
  /** Checks the servers of apps on this node. */
  lookAtApps: () => void;
  /** To all nodes, this one included. */
  publish: (message: string) => void;
  log: Log;
}

/** The other side of the interface: what the queue and the messages between nodes say. */
export interface CommandEventSource extends CommandEvents {
  /** The command has ended, on this node. */
  noteEnd(commandId: number): void;
  /** Something may be claimed by another node. */
  wakeNodes(): void;
  receive(message: string): void;
  close(): void;
}

const LOOK_EVERY_MS = 1000;
const LOOK_AT_FIRST_MS = 20;
const WAKE = "wake";
const APP_STOPPED = "app stopped";
const ENDED = "ended ";

export function openCommandEvents({
  findEnded,
  poke,
  lookAtApps,
  publish,
  log,
}: CommandEventsOptions): CommandEventSource {
  const waiters = new Map<number, Set<() => void>>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const resolveAll = (commandId: number): void => {
    for (const resolve of waiters.get(commandId) ?? []) resolve();
  };
  const look = async (): Promise<void> => {
    const ids = [...waiters.keys()];
    try {
      if (ids.length > 0) (await findEnded(ids)).forEach(resolveAll);
    } catch (error) {
      log.debug({ err: error }, "could not look for commands that have ended; the next look will");
    }
    timer = undefined;
    lookIn(LOOK_EVERY_MS);
  };
  const lookIn = (milliseconds: number): void => {
    if (!closed && waiters.size > 0) timer ??= setTimeout(() => void look(), milliseconds).unref();
  };

  return {
    wake() {
      poke();
      publish(WAKE);
    },
    cancelled() {
      poke();
      publish(WAKE);
      lookIn(LOOK_AT_FIRST_MS); // one that waited has ended already
    },
    appStopped: () => publish(APP_STOPPED),
    ended(commandId, timeoutMs, signal) {
      return new Promise((resolve) => {
        const set = waiters.get(commandId) ?? new Set();
        const done = (): void => {
          clearTimeout(limit);
          signal?.removeEventListener("abort", done);
          set.delete(done);
          if (set.size === 0 && waiters.get(commandId) === set) waiters.delete(commandId);
          resolve();
        };
        const limit = setTimeout(done, timeoutMs);
        waiters.set(commandId, set.add(done));
        signal?.addEventListener("abort", done);
        if (closed || signal?.aborted === true) done();
        // It may have ended between the caller's read and now.
        lookIn(LOOK_AT_FIRST_MS);
      });
    },
    noteEnd(commandId) {
      resolveAll(commandId);
      publish(`${ENDED}${commandId}`);
    },
    wakeNodes: () => publish(WAKE),
    receive(message) {
      if (message === WAKE) poke();
      if (message === APP_STOPPED) lookAtApps();
      if (message.startsWith(ENDED)) resolveAll(Number(message.slice(ENDED.length)));
    },
    close() {
      closed = true;
      clearTimeout(timer);
      for (const commandId of waiters.keys()) resolveAll(commandId);
    },
  };
}
