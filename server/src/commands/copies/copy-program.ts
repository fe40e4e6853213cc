import { fileURLToPath } from "node:url";
import { type ProgramSource, shareCompiled } from "../../processes/placed-program/place-program.ts";
import type { ProgramSetUp } from "../../processes/placed-program/program-set-up.ts";
import type { Launch } from "../execution/confine-run.ts";
import { Fault } from "../../lib/fault.ts";

/** The program that copies, or a stub in tests. */
export interface CopyProgram {
  /** Why no copy can start on this node now; null: copies can start. */
  unready(): string | null;
  /** The path of its request is appended to `argv`. `uid`: the user that it runs as; undefined: the server's own. */
  launch(uid: number | undefined): Promise<Pick<Launch, "argv" | "env" | "readOnly">>;
}

export const COPY_PROGRAM: ProgramSource = {
  name: "copy-program",
  title: "the copy program",
  entry: fileURLToPath(new URL("../../engines/s3-copy/process/main.ts", import.meta.url)),
  root: fileURLToPath(new URL("../..", import.meta.url)),
  // A young generation of 8 MiB from the start: with less, collections take a fifth of the time of small files; with more,
  // garbage takes more memory. The process collects the rest itself (`dropped-memory.ts`); without the last option, such a
  // collection would also drop compiled functions that are in use.
  nodeOptions: ["--min-semi-space-size=8", "--max-semi-space-size=8", "--expose-gc", "--no-flush-bytecode"],
};

export function placedCopyProgram(setUp: Pick<ProgramSetUp, "placed" | "unready">): CopyProgram {
  return {
    unready: () => setUp.unready(),
    async launch(uid) {
      const program = setUp.placed();
      if (program === undefined) throw new Fault("unavailable", setUp.unready() ?? "the copy program is missing");
      if (uid !== undefined) await shareCompiled(program, uid);
      const { argv, folders, compiled } = program;
      return { argv, env: { PATH: "/usr/bin:/bin", NODE_COMPILE_CACHE: compiled }, readOnly: folders };
    },
  };
}
