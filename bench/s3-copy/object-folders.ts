import { linkSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { CannotMeasureError } from "./bench-case.ts";
import type { ClientRunner } from "./client-process.ts";
import type { Clients } from "./clients.ts";
import type { ObjectServer } from "./object-server.ts";

export interface ObjectFoldersOptions {
  readonly server: ObjectServer;
  readonly clients: Clients;
  readonly runner: ClientRunner;
  readonly files: string;
}

const BUCKETS = ["sources", "copies"] as const;

/** Fills, reads and empties folders of objects: as files if the server stores objects as files, otherwise by requests. */
export class ObjectFolders {
  readonly #options: ObjectFoldersOptions;

  constructor(options: ObjectFoldersOptions) {
    this.#options = options;
  }

  async createBuckets(): Promise<void> {
    const { clients, runner } = this.#options;
    for (const bucket of BUCKETS) await runner.run(clients.s5cmd("mb", `s3://${bucket}`));
  }

  /** Uploads all files of a folder as `s3://sources/NAME/…`. */
  async upload(folder: string, name: string): Promise<void> {
    const { clients, runner } = this.#options;
    await runner.run(clients.s5cmd("cp", `${folder}/`, `s3://sources/${name}/`));
  }

  /** Like `upload`, for files with the same contents. Where objects are stored as files, they take up the space of one. */
  async uploadSame(folder: string, name: string): Promise<void> {
    const { clients, runner, server } = this.#options;
    if (server.folder === undefined) return this.upload(folder, name);
    const paths = listFiles(folder);
    const [first = ""] = paths;
    await runner.run(clients.s5cmd("cp", join(folder, first), `s3://sources/${name}/${first}`));
    this.linkObjects(`sources/${name}`, first, paths.slice(1));
  }

  /** Adds keys for an object by linking its file. Properties such as the ETag belong to the file and so to all links. */
  linkObjects(prefix: string, first: string, others: Iterable<string>): void {
    const { folder } = this.#options.server;
    if (folder === undefined) {
      throw new CannotMeasureError("it needs versitygw, which stores objects as files");
    }
    let previous = "";
    for (const other of others) {
      const path = join(folder, prefix, other);
      if (dirname(path) !== previous) mkdirSync(dirname(path), { recursive: true });
      previous = dirname(path);
      linkSync(join(folder, prefix, first), path);
    }
  }

  /** A folder with the same files as `s3://BUCKET/NAME/`. */
  async asFiles(bucket: (typeof BUCKETS)[number], name: string): Promise<string> {
    const { clients, runner, server, files } = this.#options;
    if (server.folder !== undefined) return join(server.folder, bucket, name);
    const folder = join(files, "downloaded");
    rmSync(folder, { recursive: true, force: true });
    await runner.run(clients.s5cmd("cp", `s3://${bucket}/${name}/*`, `${folder}/`));
    return folder;
  }

  async remove(bucket: (typeof BUCKETS)[number], name: string): Promise<void> {
    const { clients, runner, server, files } = this.#options;
    if (server.folder === undefined) {
      rmSync(join(files, "downloaded"), { recursive: true, force: true });
      const { argv, env } = clients.s5cmd("rm", `s3://${bucket}/${name}/*`);
      await runner.run({ argv: ["sh", "-c", '"$@" || true', "sh", ...argv], env }); // s5cmd fails if there are no objects
      return;
    }
    rmSync(join(server.folder, bucket, name), { recursive: true, force: true });
  }
}

/** The paths of all files below a folder, in byte order. */
export function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
