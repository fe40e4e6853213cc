import { Fault } from "../../lib/fault.ts";
import type { Executor } from "./executor.ts";

/** Kinds of commands that are accepted and that this version cannot run: each ends as `error` with that in its log. */
export const unsupportedExecutor: Executor = {
  unready: () => null,
  memoryMiB: () => 0,
  prepare: () => Promise.reject(new Fault("invalid", "not supported by this version")),
  tidy: () => Promise.resolve(),
  adopt: () => Promise.reject(new Fault("invalid", "not supported by this version")),
};
