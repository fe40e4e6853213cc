/** The sockets of the machine according to proc(5), and what each of them can hold. */
import { readFileSync } from "node:fs";

export interface SocketTables {
  /** The most that a socket can hold whose queues are not known. */
  readonly bytesPerSocket: number;
  /** What all Unix sockets of the machine can hold. */
  readonly allUnixBytes: number;
  isUnix(inode: string): boolean;
  /** Includes the connections that wait at a listening socket. */
  bytesOf(inode: string): number;
}

interface Table {
  /** By the inode of the socket. */
  readonly sockets: Map<string, { readonly bytes: number; readonly address: string | undefined }>;
  /** By the address at which they wait. */
  readonly waiting: Map<string, number>;
}

/** `net.core.wmem_default` if it cannot be read. */
const DEFAULT_BUFFER_BYTES = 212_992;
/** A message may exceed the buffer, and options of a socket take memory too. */
const BUFFERS_PER_SOCKET = 2;

export function readSocketTables(): SocketTables {
  const bufferBytes = Number(readText("/proc/sys/net/core/wmem_default")) || DEFAULT_BUFFER_BYTES;
  const bytesPerSocket = bufferBytes * BUFFERS_PER_SOCKET;
  const unix = parseUnixTable(readText("/proc/net/unix"), bytesPerSocket);
  const tcp = ["tcp", "tcp6"].map((name) => parseTcpTable(readText(`/proc/net/${name}`)));
  const tables = [unix, ...tcp];
  return {
    bytesPerSocket,
    allUnixBytes: [...unix.sockets.values().map(({ bytes }) => bytes), ...unix.waiting.values()].reduce(
      (sum, bytes) => sum + bytes,
      0,
    ),
    isUnix: (inode) => unix.sockets.has(inode),
    bytesOf(inode) {
      for (const { sockets, waiting } of tables) {
        const socket = sockets.get(inode);
        if (socket === undefined) continue;
        const { bytes, address } = socket;
        return address === undefined ? bytes : bytes + (waiting.get(address) ?? 0);
      }
      return bytesPerSocket;
    },
  };
}

/** The kernel's flag of a listening socket. */
const UNIX_LISTENS = 0x1_0000;

/** Lines of `Num RefCount Protocol Flags Type St Inode Path`. A waiting connection has the inode 0. */
export function parseUnixTable(text: string, bytesPerSocket: number): Table {
  const table: Table = { sockets: new Map(), waiting: new Map() };
  for (const line of text.split("\n").slice(1)) {
    const match = /^\S+ \S+ \S+ (\S+) \S+ \S+ +(\d+)(?: (.*))?$/.exec(line);
    const [, flags = "", inode = "", path] = match ?? [];
    if (match === null) continue;
    const address = (Number.parseInt(flags, 16) & UNIX_LISTENS) === 0 ? undefined : path;
    if (inode === "0") addWaiting(table, path ?? "", bytesPerSocket);
    else table.sockets.set(inode, { bytes: bytesPerSocket, address });
  }
  return table;
}

const TCP_LISTENS = "0A";

/** Lines of `sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode …`. */
export function parseTcpTable(text: string): Table {
  const table: Table = { sockets: new Map(), waiting: new Map() };
  for (const line of text.split("\n").slice(1)) {
    const [, local = "", , state, queues = "", , , , , inode] = line.trim().split(/\s+/);
    if (inode === undefined) continue;
    // The queue of a listening socket is a number of connections.
    const bytes = state === TCP_LISTENS ? 0 : queues.split(":").reduce((sum, hex) => sum + Number.parseInt(hex, 16), 0);
    const port = local.slice(local.indexOf(":"));
    if (inode === "0") addWaiting(table, port, bytes);
    else table.sockets.set(inode, { bytes, address: state === TCP_LISTENS ? port : undefined });
  }
  return table;
}

function addWaiting({ waiting }: Table, address: string, bytes: number): void {
  waiting.set(address, (waiting.get(address) ?? 0) + bytes);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // the kernel was built without it
  }
}
