/**
 * Events of commands, for requests that wait. Messages between nodes only save time: each wait also polls the rows, with
 * one query for all waiters of a node.
 */
import type { Notifications } from "../../db/notifications.ts";
import type { Log } from "../../lib/log.ts";

export interface CommandEvents {
  /** Call it after a submission has been committed: the nodes then look for commands to claim. */
  wake(): void;
  /** Call it after a cancel has been committed: the node that runs the command then ends it. */
  cancelled(commandId: number): void;
  /** Call it after the stop of an app has been committed: every node then checks its servers. */
  appStopped(): void;
  /**
   * Settles when the command has ended, the time is over or the signal is aborted; never fails. The caller then reads the
   * row again.
   */
  ended(commandId: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

/** For handlers: their services have it under this name. */
export interface WithCommandEvents {
  commandEvents: CommandEvents;
}

export interface CommandEventsOptions {
  /** Returns the given ids of commands that have ended. */
  findEnded: (commandIds: readonly number[]) => Promise<number[]>;
  /** Connects to the messages between nodes. A message goes to all nodes, this one included. */
  connect: (receive: (message: string) => void) => Notifications;
  log: Log;
}

/** The events as the queue and the servers of apps use them. */
export interface CommandEventSource extends CommandEvents {
  /** The listener is called when something may be claimed, or a run is to be cancelled. */
  onWake(listener: () => void): void;
  /** The listener is called when an app was stopped, on this node or another. */
  onAppStopped(listener: () => void): void;
  /** The command has ended, on this node. */
  noteEnd(commandId: number): void;
  /** Something may be claimed by another node. */
  wakeNodes(): void;
  /** Settles all pending calls of `ended`, and later ones at once. */
  endWaits(): void;
  close(): Promise<void>;
}

const POLL_INTERVAL_MS = 1000;
const FIRST_POLL_MS = 20;
const WAKE = "wake";
const APP_STOPPED = "app stopped";
const ENDED = "ended ";

export function openCommandEvents({ findEnded, connect, log }: CommandEventsOptions): CommandEventSource {
  const waiters = new Map<number, Set<() => void>>();
  const wakeListeners: (() => void)[] = [];
  const appListeners: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const resolveAll = (commandId: number): void => {
    for (const resolve of waiters.get(commandId) ?? []) resolve();
  };
  const poll = async (): Promise<void> => {
    const ids = [...waiters.keys()];
    try {
      if (ids.length > 0) (await findEnded(ids)).forEach(resolveAll);
    } catch (error) {
      log.debug({ err: error }, "ended commands could not be read; trying again");
    }
    timer = undefined;
    pollIn(POLL_INTERVAL_MS);
  };
  const pollIn = (milliseconds: number): void => {
    if (!closed && waiters.size > 0) timer ??= setTimeout(() => void poll(), milliseconds).unref();
  };

  const notify = (listeners: readonly (() => void)[]): void => {
    for (const listener of listeners) listener();
  };
  const notifications = connect((message) => {
    if (message === WAKE) notify(wakeListeners);
    if (message === APP_STOPPED) notify(appListeners);
    if (message.startsWith(ENDED)) resolveAll(Number(message.slice(ENDED.length)));
  });
  const wake = (): void => {
    notify(wakeListeners); // without waiting for the message
    notifications.publish(WAKE);
  };
  const endWaits = (): void => {
    closed = true;
    clearTimeout(timer);
    for (const commandId of waiters.keys()) resolveAll(commandId);
  };

  return {
    onWake: (listener) => void wakeListeners.push(listener),
    onAppStopped: (listener) => void appListeners.push(listener),
    wake,
    cancelled() {
      wake();
      pollIn(FIRST_POLL_MS); // a waiting command has ended at once
    },
    appStopped: () => notifications.publish(APP_STOPPED),
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
        pollIn(FIRST_POLL_MS);
      });
    },
    noteEnd(commandId) {
      resolveAll(commandId);
      notifications.publish(`${ENDED}${commandId}`);
    },
    wakeNodes: () => notifications.publish(WAKE),
    endWaits,
    async close() {
      endWaits();
      await notifications.close();
    },
  };
}
