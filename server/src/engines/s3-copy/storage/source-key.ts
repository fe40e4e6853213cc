import { ObjectStoreError } from "../../../object-store/object-store-error.ts";

/**
 * A customer's key for encrypted sources. Objects without such encryption refuse it, so it is sent only where it is needed:
 * each call tries first what the last one needed, because sources are mostly all alike.
 */
export class SourceKey {
  readonly #key: string | null;
  #isNeeded = false;

  /** Null: none was given. */
  constructor(key: string | null) {
    this.#key = key;
  }

  async use<T>(call: (key: string | undefined) => Promise<T>): Promise<T> {
    if (this.#key === null) return call(undefined);
    const isNeeded = this.#isNeeded;
    try {
      return await call(isNeeded ? this.#key : undefined);
    } catch (error) {
      // A store that lacks an operation refuses it with any key.
      const isKeyWrong =
        error instanceof ObjectStoreError && error.kind === "bad-request" && error.code !== "NotImplemented";
      if (!isKeyWrong) throw error;
      const result = await call(isNeeded ? undefined : this.#key);
      this.#isNeeded = !isNeeded;
      return result;
    }
  }
}
