import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { askFor } from "../../server/test/on-demand/on-demand.ts";
import {
  credentials,
  region,
  serveSeaweedFs,
  type SharedSeaweedFs,
} from "../../server/test/seaweedfs/seaweedfs-server.ts";
import { VERSITYGW_VERSION } from "./tools.ts";

/** The S3 server that all clients use. */
export interface ObjectServer {
  readonly title: string;
  readonly endpoint: string;
  /** The folder with a folder per bucket and a file per object; undefined: the server has a format of its own. */
  readonly folder: string | undefined;
  stop(): Promise<void>;
}

const READY_MS = 30_000;

/** versitygw needs half of the CPU that SeaweedFS needs for a GET and a quarter for a copy, so it limits clients less. */
export async function startVersitygw(program: string, dir: string): Promise<ObjectServer> {
  const folder = join(dir, "buckets");
  mkdirSync(folder);
  const port = await freePort();
  const child = spawn(program, ["--port", `127.0.0.1:${port}`, "--keep-alive", "--quiet", "posix", folder], {
    env: {
      PATH: process.env.PATH ?? "",
      ROOT_ACCESS_KEY_ID: credentials.accessKeyId,
      ROOT_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      VGW_REGION: region,
    },
    stdio: ["ignore", "ignore", "inherit"],
    detached: true, // so that Ctrl-C does not end it before the clients
  });
  const exited = once(child, "exit");
  const endpoint = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL"); // its data is not needed any more
    await exited;
  };
  for (const end = Date.now() + READY_MS; !(await answers(endpoint)); await pause(20)) {
    if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`);
    if (Date.now() < end) continue;
    await stop();
    throw new Error(`versitygw was not ready in ${READY_MS / 1000} s`);
  }
  return { title: `versitygw ${VERSITYGW_VERSION}`, endpoint, folder, stop };
}

export async function startSeaweedFs(cacheDir: string): Promise<ObjectServer> {
  const served = serveSeaweedFs(cacheDir);
  const { endpoint } = await askFor<SharedSeaweedFs>(served.socket, "SeaweedFS");
  return { title: "SeaweedFS", endpoint, folder: undefined, stop: () => served.stop() };
}

async function answers(endpoint: string): Promise<boolean> {
  return fetch(endpoint).then(
    () => true,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  await once(server.close(), "close");
  return port;
}
