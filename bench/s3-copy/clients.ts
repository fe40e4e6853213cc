import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { COPY_PROGRAM } from "../../server/src/commands/copies/copy-program.ts";
import { BUFFER_MIB } from "../../server/src/commands/copies/copy-request.ts";
import type { CopyRequest } from "../../server/src/engines/s3-copy/copy-request.ts";
import { credentials, region } from "../../server/test/seaweedfs/seaweedfs-server.ts";
import type { ClientCommand } from "./client-process.ts";
import type { Tools } from "./tools.ts";

export interface ClientOptions {
  readonly tools: Tools;
  readonly endpoint: string;
  /** The file with the certificate of the server; undefined: the endpoint is one without TLS. */
  readonly certificate: string | undefined;
  /** The only folder whose files our copy may use. */
  readonly fileRoot: string;
  /** For requests, journals and scratch files of our copy. */
  readonly folder: string;
  /** Where CPU profiles of our copy are written; undefined: nowhere. */
  readonly profile: string | undefined;
}

/** Shared by all clients of a run, so that code is compiled once. */
const COMPILED = join(tmpdir(), "compiled");
const rawClient = fileURLToPath(new URL("raw-requests.ts", import.meta.url));
/** The name of the S3 server in the configuration of rclone, which it reads from the environment. */
export const RCLONE_REMOTE = "bench:";

/** Builds the command lines of all clients, for the same server. */
export class Clients {
  readonly #options: ClientOptions;
  #requests = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Our copy, with the options of `sub_command_args`. Each call is another command: it has its own journal. */
  ours(words: readonly string[]): ClientCommand {
    const { folder, fileRoot, endpoint, profile } = this.#options;
    const own = join(folder, `copy-${(this.#requests += 1)}`);
    const [journalFolder, scratchFolder] = [join(own, "journal"), join(own, "scratch")];
    rmSync(join(folder, `copy-${this.#requests - 1}`), { recursive: true, force: true });
    for (const path of [journalFolder, scratchFolder]) mkdirSync(path, { recursive: true });
    const request: CopyRequest = {
      words,
      account: { s3: { endpoint, region, credentials }, hdfs: null, location: `file://${fileRoot}`, fileRoot },
      allowedNetworks: ["127.0.0.0/8"],
      journalFolder,
      scratchFolder,
      bufferMiB: BUFFER_MIB,
    };
    const path = join(own, "request.json");
    writeFileSync(path, JSON.stringify(request), { mode: 0o600 });
    const profiling = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
    return {
      argv: [process.execPath, ...COPY_PROGRAM.nodeOptions, ...profiling, COPY_PROGRAM.entry, path],
      env: { NODE_COMPILE_CACHE: COMPILED, ...this.#trust },
    };
  }

  s5cmd(...args: string[]): ClientCommand {
    const { tools, endpoint } = this.#options;
    const log = args[0] === "ls" ? "info" : "error"; // it logs the listed keys at this level
    const trust = this.#options.certificate === undefined ? [] : ["--no-verify-ssl"];
    return { argv: [tools.s5cmd, "--log", log, "--endpoint-url", endpoint, ...trust, ...args], env: this.environment };
  }

  /**
   * rclone with as many parallel transfers as our copy. It neither looks for files at the destination, which is empty, nor
   * asks for properties that no copy needs: otherwise it would send twice as many requests as the others.
   */
  rclone(...args: string[]): ClientCommand {
    const { tools } = this.#options;
    const parallel = ["--transfers", "64", "--checkers", "64", "--fast-list", "--use-server-modtime"];
    const unchecked = ["--no-check-dest", "--no-traverse", "--s3-no-check-bucket", "--s3-no-head"];
    const trust = this.#options.certificate === undefined ? [] : ["--no-check-certificate"];
    return { argv: [tools.rclone, ...args, ...parallel, ...unchecked, ...trust], env: this.environment };
  }

  /** A client that only sends requests, which it has signed before. It measures itself. */
  raw(kind: "get" | "copy", source: string, keys: string): ClientCommand {
    return { argv: [process.execPath, rawClient, kind, this.#options.endpoint, source, keys], env: this.#trust };
  }

  /** A bash script that uses these programs. It ends at the first error. */
  script(text: string): ClientCommand {
    const { tools, endpoint } = this.#options;
    return {
      argv: ["bash", "-c", `set -euo pipefail\n${text}`],
      env: {
        ...this.environment,
        S5CMD: `${tools.s5cmd} --log error --endpoint-url ${endpoint}`,
        RCLONE: tools.rclone,
      },
    };
  }

  /** For clients in Node, which check certificates. */
  get #trust(): Record<string, string> {
    const { certificate } = this.#options;
    return certificate === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificate };
  }

  get environment(): Record<string, string> {
    const { endpoint } = this.#options;
    return {
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_REGION: region,
      AWS_EC2_METADATA_DISABLED: "true",
      RCLONE_CONFIG: "/dev/null",
      RCLONE_CONFIG_BENCH_TYPE: "s3",
      RCLONE_CONFIG_BENCH_PROVIDER: "Other",
      RCLONE_CONFIG_BENCH_ENDPOINT: endpoint,
      RCLONE_CONFIG_BENCH_REGION: region,
      RCLONE_CONFIG_BENCH_ACCESS_KEY_ID: credentials.accessKeyId,
      RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    };
  }
}
