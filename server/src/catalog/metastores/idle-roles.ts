import type { LimitedRole } from "./store/role-connections.ts";

/** As long as an unused metastore keeps running: one on another node may have closed its sessions and need them again. */
export const ROLE_IDLE_MS = 10 * 60_000;

interface IdlePeriod {
  readonly since: number;
  readonly established: number;
}

/** Finds the roles that no node uses any more: those without a session for some minutes. */
export class IdleRoles {
  readonly #now: () => number;
  #idle = new Map<string, IdlePeriod>();

  constructor(now: () => number) {
    this.#now = now;
  }

  observe(roles: readonly LimitedRole[], wanted: ReadonlySet<string>): Set<string> {
    const now = this.#now();
    const before = this.#idle;
    this.#idle = new Map(
      roles
        .filter(({ name, limit, sessions }) => limit !== 0 && sessions === 0 && !wanted.has(name))
        .map(({ name, established }) => {
          const period = before.get(name);
          return [name, period?.established === established ? period : { since: now, established }];
        }),
    );
    return new Set([...this.#idle].flatMap(([name, { since }]) => (now - since >= ROLE_IDLE_MS ? name : [])));
  }

  /** For a role that lost its connections. If another node gives it new ones, its idle period starts again. */
  forget(name: string): void {
    this.#idle.delete(name);
  }
}
