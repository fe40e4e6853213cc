/**
 * `node bench/s3-copy/raw-requests.ts get|copy ENDPOINT NAME KEYS`: sends one GET, or one CopyObject to the bucket `copies`,
 * for each object of `s3://sources/NAME/`. The file KEYS has a key per line. It prints the time from the first request to
 * the last answer, with the CPU time and the peak memory. All requests are signed and formatted before that, and answers
 * are only counted. This shows the limit of the server for a client that does next to nothing.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { EMPTY_PAYLOAD_HASH, requestSigner } from "../../server/src/object-store/s3/sign-request.ts";
import { credentials, region } from "../../server/test/seaweedfs/seaweedfs-server.ts";

const CONNECTIONS = 64;
const READ_BYTES = 256 * 1024;
const [kind = "", endpoint = "", name = "", keysFile = ""] = process.argv.slice(2);
const { host, hostname, port, protocol } = new URL(endpoint);
const isTls = protocol === "https:";

const sign = requestSigner(credentials);
const keys = readFileSync(keysFile, "utf8").trimEnd().split("\n");
const requests = keys.map((key) => (kind === "copy" ? copyRequest(key) : getRequest(key)));
let next = 0;

function getRequest(key: string): Buffer {
  return signed("GET", `/sources/${name}/${key}`, {});
}

function copyRequest(key: string): Buffer {
  return signed("PUT", `/copies/${name}/${key}`, {
    "content-length": "0",
    "x-amz-copy-source": `/sources/${name}/${key}`,
    "x-amz-metadata-directive": "COPY",
  });
}

function signed(method: string, path: string, headers: Record<string, string>): Buffer {
  const request = { method, path, query: "", headers: { host, ...headers }, payloadHash: EMPTY_PAYLOAD_HASH };
  const lines = Object.entries(sign(request, region, new Date())).map(([header, value]) => `${header}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
}

/** Sends its next request when the previous one is answered. Reads into one buffer, so that nothing is allocated. */
class Connection {
  readonly #socket: Socket;
  #missingBytes = 0;
  #head = "";
  #end: () => void = () => undefined;
  #fail: (error: Error) => void = () => undefined;

  constructor() {
    const onread = {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (count: number, bytes: Uint8Array): boolean => {
        this.#take(Buffer.from(bytes.buffer, bytes.byteOffset, count));
        return true;
      },
    };
    const options = { host: hostname, port: Number(port), onread };
    this.#socket = (isTls ? connectTls(options) : connect(options)).setNoDelay(true);
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the server has closed a connection")));
  }

  async open(): Promise<this> {
    await once(this.#socket, isTls ? "secureConnect" : "connect");
    return this;
  }

  async work(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
      this.#send();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #send(): void {
    const request = requests[next];
    next += 1;
    if (request === undefined) this.#end();
    else this.#socket.write(request);
  }

  #take(bytes: Buffer): void {
    if (this.#missingBytes > 0) {
      this.#missingBytes -= bytes.length;
    } else {
      this.#head += bytes.toString("latin1");
      const end = this.#head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = bodyLength(this.#head.slice(0, end));
      if (length === undefined) return this.#fail(new Error(`unexpected answer: ${this.#head.slice(0, end)}`));
      this.#missingBytes = length - (this.#head.length - end - 4);
      this.#head = "";
    }
    if (this.#missingBytes === 0) this.#send();
  }
}

/** Undefined: the answer is not the expected one. */
function bodyLength(head: string): number | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  return head.startsWith("HTTP/1.1 200") && length !== undefined ? Number(length) : undefined;
}

const connections = await Promise.all(
  Array.from({ length: Math.min(CONNECTIONS, requests.length) }, () => new Connection().open()),
);
const cpuBefore = process.cpuUsage();
const began = performance.now();
await Promise.all(connections.map((connection) => connection.work()));
const wallSeconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
const peakMiB = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ wallSeconds, cpuSeconds: (user + system) / 1e6, peakMiB }));
for (const connection of connections) connection.close();
