/** Messages between the server and its sandbox process. */
export interface Macro {
  /** An identifier. */
  name: string;
  /** A JavaScript expression, which may refer to earlier macros. */
  expression: string;
}

export interface Limits {
  /** CPU time. */
  cpuMs: number;
  memoryBytes: number;
  /** Length of one value. */
  textLength: number;
}

export interface Job {
  macros: readonly Macro[];
  limits: Limits;
}

export type Outcome =
  /** One value per macro, in the same order. */
  { kind: "values"; values: string[] } | { kind: "failed"; name: string; reason: string };
