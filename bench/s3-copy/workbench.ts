import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testCacheDir } from "../../server/test/support/cache-dir.ts";
import { endWithThisProcess } from "../../server/test/support/run-folders.ts";
import { ClientRunner } from "./client-process.ts";
import { Clients } from "./clients.ts";
import { startSeaweedFs, startVersitygw, type ObjectServer } from "./object-server.ts";
import { CannotMeasureError } from "./bench-case.ts";
import { ObjectFolders } from "./object-folders.ts";
import { installTools } from "./tools.ts";

export interface BenchOptions {
  readonly scale: number;
  readonly rounds: number;
  /** In memory by default, so that no disk limits the clients. */
  readonly folder: string;
  /** Where CPU profiles of our copy are written. */
  readonly profile: string | undefined;
}

/** Everything that a case needs. */
export interface Workbench extends BenchOptions {
  readonly server: ObjectServer;
  readonly clients: Clients;
  /** Clients of the same server over TLS. Throws a `CannotMeasureError` if it has none. */
  readonly secureClients: () => Clients;
  readonly runner: ClientRunner;
  readonly objects: ObjectFolders;
  /** The folder for local files, in memory. */
  readonly files: string;
  /** A count or a size at the scale of this run. */
  readonly scaled: (value: number) => number;
  /** Throws a `CannotMeasureError` if the case does not fit into memory. */
  readonly requireRoom: (bytes: number, files: number) => void;
  /** Called when the workbench is closed, for example by Ctrl-C. A case that ends removes its own entry. */
  readonly closers: Set<() => Promise<void>>;
  close(): Promise<void>;
}

const GIB = 1024 ** 3;
/** The memory that clients and the server need besides files. */
const SPARE_BYTES = 2 * GIB;

export async function openWorkbench(options: BenchOptions): Promise<Workbench> {
  const cacheDir = testCacheDir();
  const tools = await installTools(cacheDir);
  const work = mkdtempSync(join(options.folder, "headgate-bench-"));
  const noteClosed = endWithThisProcess([work]); // it may be outside the folder of the run
  const scratch = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  chmodSync(work, 0o755);
  let server: ObjectServer | undefined;
  const close = async (): Promise<void> => {
    await server?.stop();
    for (const folder of [work, scratch]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    noteClosed();
  };
  try {
    const files = join(work, "files");
    mkdirSync(files);
    server =
      tools.versitygw === undefined ? await startSeaweedFs(cacheDir) : await startVersitygw(tools.versitygw, work);
    if (tools.versitygw === undefined) {
      console.log("NOTE: Go is missing, so versitygw cannot be built. SeaweedFS needs more CPU and may be the limit.");
    }
    const shared = { tools, fileRoot: files, profile: options.profile };
    const { endpoint, secure } = server;
    const clients = new Clients({ ...shared, endpoint, certificate: undefined, folder: join(scratch, "plain") });
    const secureClients =
      secure === undefined ? undefined : new Clients({ ...shared, ...secure, folder: join(scratch, "tls") });
    const runner = new ClientRunner(work);
    const objects = new ObjectFolders({ server, clients, runner, files });
    await objects.createBuckets();
    await warmUp(objects, clients, runner);
    const closers = new Set<() => Promise<void>>();
    return {
      ...options,
      closers,
      server,
      clients,
      secureClients() {
        if (secureClients === undefined) throw new CannotMeasureError("it needs versitygw and openssl");
        return secureClients;
      },
      runner,
      objects,
      files,
      scaled: (value) => Math.max(1, Math.round(value * options.scale)),
      requireRoom: (bytes, count) => requireRoom(work, bytes, count),
      async close() {
        runner.close();
        await Promise.all([...closers].map((closeOther) => closeOther()));
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lets Node cache the compiled code of our copy, as on a server, so that no measured run has to compile it. */
async function warmUp(objects: ObjectFolders, clients: Clients, runner: ClientRunner): Promise<void> {
  const { stdout } = runner; // any small file will do
  await runner.run(clients.s5cmd("cp", stdout, "s3://sources/warm-up/file"));
  for (const words of [[], ["--outputCodec", "gz"]]) {
    await runner.run(clients.ours(["--src", "s3://sources/warm-up/", "--dest", "s3://copies/warm-up/", ...words]));
    await objects.remove("copies", "warm-up");
  }
  await objects.remove("sources", "warm-up");
}

/** Files in memory leave less of it for everything else, so free memory counts as well as free space. */
function requireRoom(folder: string, bytes: number, files: number): void {
  const { bavail, bsize, ffree, type } = statfsSync(folder);
  const isInMemory = type === 0x01021994; // TMPFS_MAGIC
  const spaceBytes = Math.min(bavail * bsize, isInMemory ? availableMemory() - SPARE_BYTES : Infinity);
  const gib = (value: number): string => `${(value / GIB).toFixed(1)} GiB`;
  const remedy = "use a smaller --scale, or --folder with the path of a larger file system";
  if (bytes > spaceBytes)
    throw new CannotMeasureError(`it needs ${gib(bytes)} in ${folder}, ${gib(spaceBytes)} are free: ${remedy}`);
  if (files > ffree) throw new CannotMeasureError(`it needs ${files} files in ${folder}, ${ffree} are free: ${remedy}`);
}

function availableMemory(): number {
  return 1024 * Number(/^MemAvailable: +(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1] ?? 0);
}
