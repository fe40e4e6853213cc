/**
 * An S3 server that holds keys that SeaweedFS cannot hold: `a//b`, keys that end with a slash and have contents, and names
 * that are both objects and folders. It checks neither credentials nor checksums.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";
import type { S3Store } from "../../src/object-store/s3/s3-operations.ts";
import { s3Store } from "../../src/object-store/s3/s3-store.ts";
import { freePort } from "../support/free-port.ts";

export interface Moto {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly store: S3Store;
}

export const NO_MOTO = "moto_server is not installed (pip install 'moto[server]')";
const READY_MS = 60_000;

export const hasMoto = (process.env.PATH ?? "").split(":").some((folder) => isProgram(join(folder, "moto_server")));

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** One server for the tests of a file, with this bucket. Call it only if `hasMoto`. */
export function useMoto(bucket: string): Moto {
  const region = "us-east-1";
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  let endpoint = "";
  let store: S3Store | undefined;
  let stop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const port = await freePort();
    const child = spawn("moto_server", ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
    const ended = once(child, "exit");
    stop = async () => {
      child.kill("SIGKILL"); // it stores nothing
      await ended;
    };
    endpoint = `http://127.0.0.1:${port}`;
    await createBucket(endpoint, bucket);
    store = s3Store({ endpoint, region, credentials, checkAddress: () => null });
  });
  afterAll(async () => {
    await store?.close();
    await stop?.();
  });
  return {
    get endpoint() {
      return endpoint;
    },
    region,
    credentials,
    get store() {
      if (store === undefined) throw new Error("the store is open only inside tests and hooks");
      return store;
    },
  };
}

/** Waits until the server answers. */
async function createBucket(endpoint: string, bucket: string): Promise<void> {
  for (const end = Date.now() + READY_MS; Date.now() < end; await pause(50)) {
    const status = await fetch(`${endpoint}/${bucket}`, { method: "PUT" }).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
  }
  throw new Error(`moto was not ready in ${READY_MS / 1000} s`);
}
