import { once } from "node:events";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface HostileConnect {
  readonly url: string;
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL("hostile-connect-main.ts", import.meta.url));

/** Starts `hostile-connect-main.ts`. */
export async function startHostileConnect(): Promise<HostileConnect> {
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return {
    url: `sc://127.0.0.1:${/ready (\d+)/.exec(said.toString())?.[1]}`,
    async stop() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}
