/** A reason why the set-up failed, with a remedy. Any other exception is a bug. */
export class SetUpError extends Error {
  /** `output`: the output of npm. `killed`: npm could not clean up. */
  constructor(problem, cure, { output = "", killed = false } = {}) {
    super(problem);
    this.cure = cure;
    this.output = output;
    this.killed = killed;
  }
}
