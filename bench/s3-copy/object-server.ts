import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { connect, createServer, type AddressInfo } from "node:net";
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
  /** The same objects over TLS; undefined: only without. */
  readonly secure: SecureEndpoint | undefined;
  /** The folder with a folder per bucket and a file per object; undefined: the server has a format of its own. */
  readonly folder: string | undefined;
  stop(): Promise<void>;
}

export interface SecureEndpoint {
  readonly endpoint: string;
  /** The file with the server's certificate, which no authority has signed. */
  readonly certificate: string;
}

interface Gateway {
  readonly endpoint: string;
  stop(): Promise<void>;
}

interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

const READY_MS = 30_000;

/** versitygw needs half of the CPU that SeaweedFS needs for a GET and a quarter for a copy, so it limits clients less. */
export async function startVersitygw(program: string, dir: string): Promise<ObjectServer> {
  const folder = join(dir, "buckets");
  mkdirSync(folder);
  const title = `versitygw ${VERSITYGW_VERSION}`;
  const plain = await startGateway(program, folder, undefined);
  const certificate = makeCertificate(dir);
  if (certificate === undefined) return { ...plain, title, secure: undefined, folder };
  const secure = await startGateway(program, folder, certificate).catch(async (error: unknown) => {
    await plain.stop();
    throw error;
  });
  const stop = async (): Promise<void> => void (await Promise.all([plain.stop(), secure.stop()]));
  return { ...plain, title, secure: { ...certificate, ...secure }, folder, stop };
}

async function startGateway(program: string, folder: string, tls: Certificate | undefined): Promise<Gateway> {
  const port = await freePort();
  const options = tls === undefined ? [] : ["--cert", tls.certificate, "--key", tls.key];
  const argv = ["--port", `127.0.0.1:${port}`, "--keep-alive", "--quiet", ...options, "posix", folder];
  const child = spawn(program, argv, {
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
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL"); // its data is not needed any more
    await exited;
  };
  for (const end = Date.now() + READY_MS; !(await accepts(port)); await pause(20)) {
    if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`);
    if (Date.now() < end) continue;
    await stop();
    throw new Error(`versitygw was not ready in ${READY_MS / 1000} s`);
  }
  return { endpoint: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, stop };
}

/** Undefined: this machine has no openssl. */
function makeCertificate(dir: string): Certificate | undefined {
  const made = { certificate: join(dir, "certificate.pem"), key: join(dir, "key.pem") };
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=bench"];
  const files = ["-keyout", made.key, "-out", made.certificate, "-addext", "subjectAltName=IP:127.0.0.1"];
  spawnSync("openssl", ["req", "-x509", ...kind, ...files], { stdio: "ignore" });
  return existsSync(made.certificate) ? made : undefined;
}

export async function startSeaweedFs(cacheDir: string): Promise<ObjectServer> {
  const served = serveSeaweedFs(cacheDir);
  const { endpoint } = await askFor<SharedSeaweedFs>(served.socket, "SeaweedFS");
  return { title: "SeaweedFS", endpoint, secure: undefined, folder: undefined, stop: () => served.stop() };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  return once(socket, "connect")
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  await once(server.close(), "close");
  return port;
}
