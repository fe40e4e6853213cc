import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RCLONE_REMOTE, type Clients } from "./clients.ts";
import { compare, type Contender, type Result } from "./compare.ts";
import { requireSameFiles } from "./contents.ts";
import { listFiles } from "./object-folders.ts";
import { printResults } from "./report.ts";
import type { Workbench } from "./workbench.ts";

export type Direction = "S3 to files" | "files to S3" | "S3 to S3";

/** Files that are copied as they are. They exist as `s3://sources/NAME/` and in the folder NAME. */
export interface PlainCopy {
  readonly name: string;
  /** `20000 files of 4 KiB`. */
  readonly title: string;
  readonly direction: Direction;
  readonly files: number;
  readonly bytes: number;
  /** Compare with bare requests as well: one per file. */
  readonly hasFloor: boolean;
  readonly isTls?: boolean;
}

/** The same folder, as each of the clients names it. */
interface NamedFolder {
  readonly ours: string;
  readonly s5cmd: string;
  readonly rclone: string;
}

/** Prints the table; the first result is ours. */
export async function comparePlainCopy(bench: Workbench, copy: PlainCopy): Promise<Result[]> {
  const { runner, rounds, objects, files } = bench;
  const { name, direction, isTls = false } = copy;
  const clients = isTls ? bench.secureClients() : bench.clients;
  const [from, to] = [join(files, name), join(files, "to")];
  const source = direction === "files to S3" ? localFolder(from) : bucketFolder("sources", name, "*");
  const target = direction === "S3 to files" ? localFolder(to) : bucketFolder("copies", name, "");
  const verify = async (): Promise<void> => {
    requireSameFiles(from, direction === "S3 to files" ? to : await objects.asFiles("copies", name));
  };
  const floor =
    direction === "S3 to S3"
      ? rawRequests("copy", name, clients, files, verify)
      : rawRequests("get", name, clients, files);
  const results = await compare({
    runner,
    rounds,
    contenders: [
      { name: "ours", command: () => clients.ours(["--src", source.ours, "--dest", target.ours]), verify },
      { name: "s5cmd", command: () => clients.s5cmd("cp", source.s5cmd, target.s5cmd), verify },
      { name: "rclone", command: () => clients.rclone("copy", source.rclone, target.rclone), verify },
      ...(copy.hasFloor ? [floor] : []),
    ],
    reset: async () => {
      rmSync(to, { recursive: true, force: true });
      await objects.remove("copies", name);
    },
  });
  printResults(`${copy.title} from ${direction}${isTls ? " over TLS" : ""}`, results, copy);
  return results;
}

function localFolder(folder: string): NamedFolder {
  return { ours: `file://${folder}/`, s5cmd: `${folder}/`, rclone: folder };
}

/** s5cmd needs a wildcard in a source. */
function bucketFolder(bucket: string, name: string, wildcard: "*" | ""): NamedFolder {
  const uri = `s3://${bucket}/${name}/`;
  return { ours: uri, s5cmd: `${uri}${wildcard}`, rclone: `${RCLONE_REMOTE}${bucket}/${name}` };
}

function rawRequests(
  kind: "get" | "copy",
  name: string,
  clients: Clients,
  files: string,
  verify: Contender["verify"] = () => undefined,
): Contender {
  const keys = join(files, "keys.txt");
  const command = (): ReturnType<Contender["command"]> => {
    writeFileSync(keys, `${listFiles(join(files, name)).join("\n")}\n`);
    return clients.raw(kind, name, keys);
  };
  return { name: kind === "get" ? "raw GETs" : "raw CopyObjects", command, isFloor: true, verify };
}
