import type { ListeningSocket } from "./listen.ts";

/** systemd passes sockets from this file descriptor on. */
const FIRST_DESCRIPTOR = 3;

/**
 * The listening sockets that systemd opened for this process (`sd_listen_fds(3)`); empty if there are none. Removes the
 * variables from the environment, because child processes must not see them.
 */
export function takeSystemdSockets(env: NodeJS.ProcessEnv, pid: number): readonly ListeningSocket[] {
  const { LISTEN_PID: meantFor, LISTEN_FDS: count } = env;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete env[name];
  if (meantFor !== String(pid)) return [];
  return Array.from({ length: Number(count) || 0 }, (_, index) => ({ fd: FIRST_DESCRIPTOR + index }));
}
