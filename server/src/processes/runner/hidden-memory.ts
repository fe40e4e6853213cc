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

/** What one look at a run notes for the next. */
export interface LastLook {
  /** Messages with descriptors waited at some Unix socket of the run. */
  hadUnreceived: boolean;
}

/** Reads descriptors and mappings, some at a time. It ends as soon as more than `limit` is found. */
export function* measureHiddenMemory(
  found: readonly RunProcess[],
  limit: number,
  last: LastLook,
): Generator<undefined, HiddenMemory> {
  const descriptors = yield* listDescriptors(found);
  const mappings = new Mappings();
  let kernelBytes = socketBytes(descriptors, readSocketTables(), last) + descriptors.pipes.size * PIPE_BYTES;
  for (const { folder } of found) {
    yield;
    kernelBytes += mappings.add(folder);
    if (kernelBytes > limit) break;
  }
  return { kernelBytes, sharedBytes: Math.min(mappings.sharedBytes(), readMachineMemory().sharedBytes) };
}

interface Descriptors {
  /** By their inodes. */
  readonly sockets: Set<string>;
  readonly pipes: Set<string>;
  /** How many descriptors are in messages that have not been received. */
  unreceived: number;
  /** How many there may be in processes that we are not permitted to read. */
  unreadable: number;
}

function* listDescriptors(found: readonly RunProcess[]): Generator<undefined, Descriptors> {
  const all: Descriptors = { sockets: new Set(), pipes: new Set(), unreceived: 0, unreadable: 0 };
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

function addDescriptor(all: Descriptors, folder: string, name: string): void {
  try {
    const target = readlinkSync(`${folder}/fd/${name}`);
    if (target.startsWith("pipe:[")) all.pipes.add(target);
    if (!target.startsWith("socket:[") || all.sockets.has(target.slice(8, -1))) return;
    all.sockets.add(target.slice(8, -1));
    // At once, because a program may move its messages to another socket.
    all.unreceived += countUnreceived(`${folder}/fdinfo/${name}`);
  } catch {
    // Closed meanwhile.
  }
}

/**
 * Connections that wait at a listening socket have no descriptor; they have the address of that socket. Sockets inside a
 * message that has not been received have no descriptor either, and the kernel says neither which they are nor how many
 * messages are inside them, so all Unix sockets of the machine count. Programs that pass descriptors receive them at
 * once, so this holds only if the look before found such messages, too.
 */
function socketBytes({ sockets, unreceived, unreadable }: Descriptors, tables: SocketTables, last: LastLook): number {
  let bytes = (unreceived + unreadable) * tables.bytesPerSocket;
  for (const inode of sockets) bytes += tables.bytesOf(inode);
  const all = last.hadUnreceived && unreceived > 0 ? tables.allUnixBytes : 0;
  last.hadUnreceived = unreceived > 0;
  return Math.max(all, bytes);
}

/** How many descriptors are in the messages that wait at a Unix socket (from Linux 5.6 on). */
function countUnreceived(info: string): number {
  return Number(/^scm_fds:\s*(\d+)/m.exec(readFileSync(info, "latin1"))?.[1] ?? 0);
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
