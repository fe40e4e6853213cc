/** Exit codes of Spark, of the shell, and of signals inside a sandbox (128 + signal). */
export const EXIT_CODES: Readonly<Record<number, string>> = {
  50: "an exception was not caught",
  51: "an exception was not caught, and another one followed",
  52: "Java ran out of memory: raise --driver-memory or collect less",
  53: "Spark could not create its temporary folders",
  56: "Spark lost the connection to its driver, perhaps because the machine stalled: run it again",
  57: "Spark ended it because a cancelled task did not stop",
  101: "the main class was not found",
  126: "a program could not be executed",
  127: "a program was not found",
  134: "aborted",
  137: "killed",
  139: "a native library crashed",
  143: "ended by SIGTERM",
};

export const OUT_OF_MEMORY = 52;
export const NO_MAIN_CLASS = 101;
/** The exit code of a program that a signal has ended is 128 + the signal. */
export const [FIRST_SIGNAL, LAST_SIGNAL] = [129, 192];
