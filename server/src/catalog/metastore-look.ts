import type { MetastoreProcess } from "./metastore-process.ts";

/** In a row: a JVM may be busy with itself for a while. */
const LOOKS = 3;

/** Whether a metastore that lives answers, too. */
export class MetastoreLook {
  readonly #process: MetastoreProcess;
  readonly #goodForMs: number;
  #answeredAt = performance.now();
  #isServing = false;
  #secret: string | undefined;
  #looking: Promise<boolean> | undefined;

  /** Who has answered so lately is not asked again. */
  constructor(process: MetastoreProcess, goodForMs: number, signal: AbortSignal) {
    this.#process = process;
    this.#goodForMs = goodForMs;
    // While it starts, it may listen for long and not answer.
    process.ready(signal).then(
      () => {
        this.#isServing = true;
      },
      () => undefined,
    );
  }

  /** Those who ask at the same time wait for one look. Without the secret: whoever knows it has not asked yet. */
  async answers(secret = this.#secret): Promise<boolean> {
    this.#secret = secret;
    const isGood = performance.now() - this.#answeredAt < this.#goodForMs;
    if (secret === undefined || isGood || !this.#isServing) return true;
    this.#looking ??= this.#look(secret).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(secret: string): Promise<boolean> {
    for (let look = 0; look < LOOKS; look += 1) {
      if (!(await this.#process.isHealthy(secret))) continue;
      this.#answeredAt = performance.now();
      return true;
    }
    return false;
  }
}
