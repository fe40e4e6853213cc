/**
 * The seccomp filter of confined programs, as the bytes that bubblewrap passes to the kernel (`--seccomp`). It refuses
 * system calls that no Spark program needs and that have been used to attack kernels, and those that allocate memory
 * which no process accounts for. The namespaces already refuse most of them: the filter is a second line of defence.
 *
 * Calls for which programs have a fallback fail as on a kernel without them, mostly with ENOSYS; the others with EPERM. A
 * program for another architecture is killed, because its call numbers would mean other calls.
 */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type Architecture = "x64" | "arm64";

/** Numbers on x64 and arm64; null: the architecture has no such call. */
type Numbers = readonly [x64: number | null, arm64: number | null];

const refused: Readonly<Record<string, Numbers>> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  perf_event_open: [298, 241],
  fanotify_init: [300, 262],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  setns: [308, 268],
  unshare: [272, 97],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  syslog: [103, 116],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
};

const absent: Readonly<Record<string, Numbers>> = {
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Its flags are in memory, which a filter cannot read. The C library falls back to clone.
  clone3: [435, 435],
  // Memory outside all processes, which the runner could not count. Programs can use /dev/shm instead.
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  // A pipe with one byte of a huge page keeps the whole page, after its process has unmapped it.
  splice: [275, 76],
  tee: [276, 77],
  vmsplice: [278, 75],
};

/** Like `splice`, with pages of deleted files. Programs fall back to read and write if a file does not support it. */
const unsupported: Readonly<Record<string, Numbers>> = { sendfile: [40, 71] };

/** Calls that are filtered by the lower half of an argument. */
const clone: Numbers = [56, 220];
const personality: Numbers = [135, 92];
const ioctl: Numbers = [16, 29];
const socket: Numbers = [41, 198];
const socketpair: Numbers = [53, 199];
const setsockopt: Numbers = [54, 208];
const getsockopt: Numbers = [55, 209];
const closeRange: Numbers = [436, 436];
/** Every CLONE_NEW… of clone(2). */
const NEW_NAMESPACES = 0x7e02_0000;
/** A thread with descriptors of its own would hide them from the runner, which lists those of processes. */
const [CLONE_THREAD, CLONE_FILES, CLOSE_RANGE_UNSHARE] = [0x1_0000, 0x400, 0x2];
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, NETLINK_ROUTE] = [1, 2, 10, 16, 0];
const [SOL_SOCKET, IPPROTO_TCP] = [1, 6];
/** SO_SNDBUF, SO_RCVBUF and their FORCE variants: the runner counts a socket with the kernel's default sizes. */
const BUFFER_SIZES = [7, 8, 32, 33];
/** Both let sockets and processes exchange pages that the runner could not count. */
const [SO_ZEROCOPY, TCP_ZEROCOPY_RECEIVE] = [60, 35];
/** PER_LINUX and PER_LINUX32, each with or without UNAME26; the last value only queries the current one. */
const KNOWN_PERSONALITIES = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];
/** Injects input into a terminal. */
const TIOCSTI = 0x5412;

const EPERM = 1;
const EINVAL = 22;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const actions = {
  allow: 0x7fff_0000,
  refuse: 0x0005_0000 | EPERM,
  absent: 0x0005_0000 | ENOSYS,
  unsupported: 0x0005_0000 | EINVAL,
  noFamily: 0x0005_0000 | EAFNOSUPPORT,
  /** The call succeeds without any effect. */
  ignore: 0x0005_0000,
  kill: 0x8000_0000,
} as const;
type Action = keyof typeof actions;

const architectures: Readonly<Record<Architecture, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
/** The x32 calls of x64 have this bit and other numbers. */
const X32 = 0x4000_0000;

/** Offsets in the kernel's `struct seccomp_data`. */
const at = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index };

/** Undefined: there is no filter for the architecture. */
export function systemCallFilter(architecture: string): Buffer | undefined {
  if (architecture !== "x64" && architecture !== "arm64") return undefined;
  const numberOf = ([x64, arm64]: Numbers): number | null => (architecture === "x64" ? x64 : arm64);
  const numbersIn = (calls: Readonly<Record<string, Numbers>>): number[] =>
    Object.values(calls).flatMap((call) => numberOf(call) ?? []);
  return assemble([
    load(at.architecture),
    unlessEqual(architectures[architecture], "kill"),
    load(at.number),
    ...(architecture === "x64" ? [ifAtLeast(X32, "absent")] : []),
    ...numbersIn(refused).map((number) => ifEqual(number, "refuse")),
    ...numbersIn(absent).map((number) => ifEqual(number, "absent")),
    ...numbersIn(unsupported).map((number) => ifEqual(number, "unsupported")),
    ...forCall(numberOf(clone), [
      load(at.argument(0)),
      ifAnyBit(NEW_NAMESPACES, "refuse"),
      unlessAnyBit(CLONE_THREAD, "allow"),
      ifAnyBit(CLONE_FILES, "allow"),
      end("refuse"),
    ]),
    ...forCall(numberOf(closeRange), [
      load(at.argument(2)),
      ifAnyBit(CLOSE_RANGE_UNSHARE, "unsupported"),
      end("allow"),
    ]),
    ...[socket, socketpair].flatMap((call) =>
      forCall(numberOf(call), [
        load(at.argument(0)),
        ...[AF_UNIX, AF_INET, AF_INET6].map((family) => ifEqual(family, "allow")),
        unlessEqual(AF_NETLINK, "noFamily"),
        load(at.argument(2)),
        unlessEqual(NETLINK_ROUTE, "noFamily"),
        end("allow"),
      ]),
    ),
    ...forCall(numberOf(setsockopt), [
      load(at.argument(1)),
      unlessEqual(SOL_SOCKET, "allow"),
      load(at.argument(2)),
      ...BUFFER_SIZES.map((option) => ifEqual(option, "ignore")),
      ifEqual(SO_ZEROCOPY, "refuse"),
      end("allow"),
    ]),
    ...forCall(numberOf(getsockopt), [
      load(at.argument(1)),
      unlessEqual(IPPROTO_TCP, "allow"),
      load(at.argument(2)),
      ifEqual(TCP_ZEROCOPY_RECEIVE, "refuse"),
      end("allow"),
    ]),
    ...forCall(numberOf(ioctl), [load(at.argument(1)), ifEqual(TIOCSTI, "refuse"), end("allow")]),
    ...forCall(numberOf(personality), [
      load(at.argument(0)),
      ...KNOWN_PERSONALITIES.map((known) => ifEqual(known, "allow")),
      end("refuse"),
    ]),
    end("allow"),
  ]);
}

/** One instruction of a BPF program; jumps are given by their targets. */
interface Step {
  readonly code: number;
  readonly value: number;
  readonly ifTrue?: Action;
  readonly ifFalse?: Action | number;
}

const load = (offset: number): Step => ({ code: 0x20, value: offset });
const ifEqual = (value: number, ifTrue: Action): Step => ({ code: 0x15, value, ifTrue });
const unlessEqual = (value: number, ifFalse: Action): Step => ({ code: 0x15, value, ifFalse });
const ifAtLeast = (value: number, ifTrue: Action): Step => ({ code: 0x35, value, ifTrue });
const ifAnyBit = (value: number, ifTrue: Action): Step => ({ code: 0x45, value, ifTrue });
const unlessAnyBit = (value: number, ifFalse: Action): Step => ({ code: 0x45, value, ifFalse });
const end = (action: Action): Step => ({ code: 0x06, value: actions[action] });

/** Executes the steps for this call only; other calls skip them. */
function forCall(number: number | null, steps: readonly Step[]): Step[] {
  return number === null ? [] : [{ code: 0x15, value: number, ifFalse: steps.length }, ...steps];
}

const actionOrder: readonly Action[] = ["allow", "refuse", "absent", "unsupported", "noFamily", "ignore", "kill"];

/** `struct sock_filter`: code, two jump distances, value. The actions are at the end. */
function assemble(steps: readonly Step[]): Buffer {
  const all = [...steps, ...actionOrder.map(end)];
  const bytes = Buffer.alloc(all.length * 8);
  all.forEach(({ code, value, ifTrue, ifFalse }, index) => {
    const distance = (target: Action | number | undefined): number =>
      typeof target === "string" ? steps.length + actionOrder.indexOf(target) - index - 1 : (target ?? 0);
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(distance(ifTrue), index * 8 + 2);
    bytes.writeUInt8(distance(ifFalse), index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}

/**
 * Writes the filter for this machine into the first writable folder. The users of programs must be able to traverse it,
 * because bubblewrap runs as one of them. Returns the file; undefined: there is no filter for the architecture.
 */
export function writeSystemCallFilter(
  folders: readonly string[],
  architecture: string = process.arch,
): string | undefined {
  const filter = systemCallFilter(architecture);
  if (filter === undefined) return undefined;
  const hash = createHash("sha256").update(filter).digest("hex").slice(0, 12);
  const files = folders.map((folder) => join(folder, `system-calls-${architecture}-${hash}.bpf`));
  const failures: unknown[] = [];
  for (const file of files) {
    try {
      writeOnce(file, filter);
      return file;
    } catch (error) {
      failures.push(error); // a shared cache may belong to another user
    }
  }
  throw failures[0];
}

function writeOnce(file: string, content: Buffer): void {
  if (existsSync(file)) return;
  const next = `${file}.${process.pid}`;
  writeFileSync(next, content);
  chmodSync(next, 0o644); // whatever the umask is
  renameSync(next, file);
}
