import { Fault } from "../../lib/fault.ts";
import type { Executor } from "../execution/executor.ts";

/** Runs kinds of commands that are accepted but not implemented: each command ends as `error` with that in its log. */
export const unsupportedExecutor: Executor = {
  unready: () => null,
  needsNoDisk: true,
  prepare: () => Promise.reject(new Fault("invalid", "not supported by this version")),
  tidy: () => Promise.resolve(),
  adopt: () => Promise.reject(new Fault("invalid", "not supported by this version")),
};
