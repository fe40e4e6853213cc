/** What the server and its sandbox process say to each other. */
export interface Macro {
  /** An identifier. */
  name: string;
  /** JavaScript; sees the macros before it. */
  expression: string;
}

export interface Limits {
  /** Processor time. */
  cpuMs: number;
  memoryBytes: number;
  /** Of one value. */
  textLength: number;
}

export interface Job {
  macros: readonly Macro[];
  limits: Limits;
}

export type Outcome =
  /** One text a macro, in their order. */
  { kind: "values"; values: string[] } | { kind: "failed"; name: string; reason: string };
