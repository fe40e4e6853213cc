/** A reason why the set-up ended, and what the reader can do about it. Everything else that is thrown is a bug. */
export class SetUpError extends Error {
  /** `output` is what npm printed; `killed` says that it could not clean up. */
  constructor(problem, cure, { output = "", killed = false } = {}) {
    super(problem);
    this.cure = cure;
    this.output = output;
    this.killed = killed;
  }
}
