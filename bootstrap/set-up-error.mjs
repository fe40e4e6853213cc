/** A reason why the set-up ended, and what the reader can do about it. Everything else that is thrown is a bug. */
export class SetUpError extends Error {
  constructor(problem, cure, output = "") {
    super(problem);
    this.cure = cure;
    this.output = output;
  }
}
