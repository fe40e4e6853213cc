import type { LimitedRole } from "./store/role-connections.ts";

/** As long as an unused metastore goes on: one of another node may have closed its sessions and need them again. */
export const REST_MS = 10 * 60_000;

interface Rest {
  readonly since: number;
  readonly established: number;
}

/** Knows which roles no node uses any more: none has had a session since this node looked some minutes ago. */
export class RestedRoles {
  readonly #now: () => number;
  #rests = new Map<string, Rest>();

  constructor(now: () => number) {
    this.#now = now;
  }

  observe(roles: readonly LimitedRole[], wanted: ReadonlySet<string>): Set<string> {
    const now = this.#now();
    const before = this.#rests;
    this.#rests = new Map(
      roles
        .filter(({ name, limit, sessions }) => limit !== 0 && sessions === 0 && !wanted.has(name))
        .map(({ name, established }) => {
          const rest = before.get(name);
          return [name, rest?.established === established ? rest : { since: now, established }];
        }),
    );
    return new Set([...this.#rests].flatMap(([name, { since }]) => (now - since >= REST_MS ? name : [])));
  }

  /** The role has lost its connections. If another node gives it new ones, its rest begins anew. */
  forget(name: string): void {
    this.#rests.delete(name);
  }
}
