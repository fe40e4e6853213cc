/**
 * Memory that the kernel holds for the processes of a run without counting it as theirs: buffers of sockets and pipes,
 * the records of mappings, and shared memory that is mapped but not in any page table. The kernel does not tell how much
 * of it a process has, so each object counts with the most that it can hold; only TCP shows the length of its queues.
 */
import { opendirSync, readFileSync, readlinkSync } from "node:fs";
import type { RunProcess } from "./run-processes.ts";
import { readSocketTables, type SocketTables } from "./socket-tables.ts";

export interface HiddenMemory {
  readonly kernelBytes: number;
  readonly sharedBytes: number;
}

/** Measured: 64,000 mappings take 16 MB. */
const MAPPING_BYTES = 256;
/** `vm.max_map_count`, for a process whose mappings cannot be read. */
const MAX_MAPPINGS = 65_530;
const PIPE_BYTES = 65_536;
/** More than any program needs. */
const MAX_DESCRIPTORS = 250_000;
const DESCRIPTORS_PER_STEP = 64;

/** Unix sockets at which messages with descriptors wait, by their inodes. */
export type UnreceivedMessages = Set<string>;

/**
 * Reads descriptors and mappings, some at a time. It ends as soon as more than `limit` is found. `waiting`: the unreceived
 * messages of the last call, replaced by those of this one.
 */
export function* measureHiddenMemory(
  found: readonly RunProcess[],
  limit: number,
  waiting: UnreceivedMessages,
): Generator<undefined, HiddenMemory> {
  const descriptors = yield* listDescriptors(found);
  const mappings = new Mappings();
  let kernelBytes = socketBytes(descriptors, readSocketTables(), waiting) + descriptors.pipes.size * PIPE_BYTES;
  for (const { folder } of found) {
    yield;
    kernelBytes += mappings.add(folder);
    if (kernelBytes > limit) break;
  }
  return { kernelBytes, sharedBytes: Math.min(mappings.sharedBytes(), readMachineMemory().sharedBytes) };
}

interface Descriptors {
  /** Sockets and pipes by their inodes, each with the path of one of its descriptors. */
  readonly sockets: Map<string, string>;
  readonly pipes: Set<string>;
  /** How many there may be in processes that we are not permitted to read. */
  unreadable: number;
}

function* listDescriptors(found: readonly RunProcess[]): Generator<undefined, Descriptors> {
  const all: Descriptors = { sockets: new Map(), pipes: new Set(), unreadable: 0 };
  let count = 0;
  for (const { folder, descriptorSlots } of found) {
    yield;
    try {
      const opened = opendirSync(`${folder}/fd`);
      try {
        for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
          if (++count > MAX_DESCRIPTORS) return { ...all, unreadable: Infinity };
          if (count % DESCRIPTORS_PER_STEP === 0) yield;
          addDescriptor(all, folder, entry.name);
        }
      } finally {
        opened.closeSync();
      }
    } catch (error) {
      if (isRefused(error)) all.unreadable += descriptorSlots;
    }
  }
  return all;
}

function addDescriptor({ sockets, pipes }: Descriptors, folder: string, name: string): void {
  let target;
  try {
    target = readlinkSync(`${folder}/fd/${name}`);
  } catch {
    return; // closed meanwhile
  }
  if (target.startsWith("socket:[")) sockets.set(target.slice(8, -1), `${folder}/fdinfo/${name}`);
  else if (target.startsWith("pipe:[")) pipes.add(target);
}

/**
 * Connections that wait at a listening socket have no descriptor; they have the address of that socket. Sockets inside a
 * message that has not been received have no descriptor either, and the kernel does not say which they are, so all Unix
 * sockets of the machine count. Programs that pass descriptors receive them at once, so this holds only for messages
 * that wait at the same socket for two calls.
 */
function socketBytes({ sockets, unreadable }: Descriptors, tables: SocketTables, waiting: UnreceivedMessages): number {
  let bytes = unreadable * tables.bytesPerSocket;
  let hasUnreceived = false;
  const before = new Set(waiting);
  waiting.clear();
  for (const [inode, info] of sockets) {
    bytes += tables.bytesOf(inode);
    if (!tables.isUnix(inode) || countUnreceived(info) === 0) continue;
    waiting.add(inode);
    hasUnreceived ||= before.has(inode);
  }
  return hasUnreceived ? Math.max(bytes, tables.allUnixBytes) : bytes;
}

/** How many descriptors are in the messages that wait at a Unix socket (from Linux 5.6 on). */
function countUnreceived(info: string): number {
  try {
    return Number(/^scm_fds:\s*(\d+)/m.exec(readFileSync(info, "latin1"))?.[1] ?? 0);
  } catch {
    return 0; // closed meanwhile
  }
}

/** Shared memory without a file; by inode, the size up to the highest page that is mapped somewhere. */
class Mappings {
  readonly #shared = new Map<string, number>();

  /** Returns what the records of the process's mappings take. */
  add(folder: string): number {
    try {
      const lines = readFileSync(`${folder}/maps`, "latin1").split("\n");
      for (const line of lines) if (line.endsWith("/dev/zero (deleted)")) this.#addShared(line);
      return lines.length * MAPPING_BYTES;
    } catch (error) {
      if (!isRefused(error)) return 0; // the process has just ended
      this.#shared.set("unreadable", Infinity);
      return MAX_MAPPINGS * MAPPING_BYTES;
    }
  }

  #addShared(line: string): void {
    const [range = "", , offset = "", , inode = ""] = line.split(/\s+/);
    const [from = "", to = ""] = range.split("-");
    const end = [to, offset].reduce((sum, hex) => sum + Number.parseInt(hex, 16), -Number.parseInt(from, 16));
    this.#shared.set(inode, Math.max(this.#shared.get(inode) ?? 0, end));
  }

  sharedBytes(): number {
    return this.#shared.values().reduce((sum, bytes) => sum + bytes, 0);
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EPERM");
}

interface MachineMemory {
  /** Neither free nor private memory of processes nor pages of files: what this file is about, for all processes. */
  readonly hiddenBytes: number;
  readonly sharedBytes: number;
}

/** Parses /proc/meminfo. */
export function readMachineMemory(text = readFileSync("/proc/meminfo", "latin1")): MachineMemory {
  const bytes = (name: string): number => Number(new RegExp(`^${name}: +(\\d+)`, "m").exec(text)?.[1] ?? 0) * 1024;
  const known = ["MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "SReclaimable"];
  const sharedBytes = bytes("Shmem"); // part of Cached
  const hiddenBytes = known.reduce((rest, name) => rest - bytes(name), bytes("MemTotal") + sharedBytes);
  return { hiddenBytes, sharedBytes };
}
