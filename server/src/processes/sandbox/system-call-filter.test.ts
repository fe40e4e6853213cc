import { expect, test } from "vitest";
import { systemCallFilter, type Architecture } from "./system-call-filter.ts";

/** Interprets the BPF instructions that the filter uses. */
function run(filter: Buffer, call: { arch: number; number: number; args?: readonly number[] }): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.arch >>> 0, 4);
  (call.args ?? []).forEach((value, index) => data.writeUInt32LE(value >>> 0, 16 + 8 * index));
  let loaded = 0;
  for (let at = 0; ; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const [ifTrue, ifFalse, value] = [
      filter[at * 8 + 2] ?? 0,
      filter[at * 8 + 3] ?? 0,
      filter.readUInt32LE(at * 8 + 4),
    ];
    const jump = (isTrue: boolean): number => (isTrue ? ifTrue : ifFalse);
    if (code === 0x06) return value;
    else if (code === 0x20) loaded = data.readUInt32LE(value);
    else if (code === 0x15) at += jump(loaded === value);
    else if (code === 0x35) at += jump(loaded >= value);
    else if (code === 0x45) at += jump((loaded & value) !== 0);
    else throw new Error(`unknown instruction ${code}`);
  }
}

const ARCHITECTURES = { x64: 0xc000_003e, arm64: 0xc000_00b7 };
const [ALLOW, EPERM, ENOSYS, KILL] = [0x7fff_0000, 0x0005_0001, 0x0005_0026, 0x8000_0000];
const [IGNORE, EINVAL, EAFNOSUPPORT] = [0x0005_0000, 0x0005_0016, 0x0005_0061];
const numbers = {
  x64: {
    read: 0,
    ptrace: 101,
    mount: 165,
    setns: 308,
    shmget: 29,
    clone: 56,
    clone3: 435,
    personality: 135,
    ioctl: 16,
    msgget: 68,
    semget: 64,
    mq_open: 240,
    vmsplice: 278,
    sendfile: 40,
    socket: 41,
    socketpair: 53,
    setsockopt: 54,
    getsockopt: 55,
    close_range: 436,
  },
  arm64: {
    read: 63,
    ptrace: 117,
    mount: 40,
    setns: 268,
    shmget: 194,
    clone: 220,
    clone3: 435,
    personality: 92,
    ioctl: 29,
    msgget: 186,
    semget: 190,
    mq_open: 180,
    vmsplice: 75,
    sendfile: 71,
    socket: 198,
    socketpair: 199,
    setsockopt: 208,
    getsockopt: 209,
    close_range: 436,
  },
} as const;

test.each(["x64", "arm64"] as const)(
  "the filter for %s allows and refuses the calls of its tables",
  (name: Architecture) => {
    const filter = systemCallFilter(name) ?? Buffer.alloc(0);
    const of = (call: keyof (typeof numbers)["x64"], ...args: number[]): number =>
      run(filter, { arch: ARCHITECTURES[name], number: numbers[name][call], args });
    expect(of("read")).toBe(ALLOW);
    expect([of("ptrace"), of("mount"), of("setns")]).toEqual([EPERM, EPERM, EPERM]);
    expect([of("clone3"), of("shmget")]).toEqual([ENOSYS, ENOSYS]);
    expect([of("clone", 0x003d_0f00), of("clone", 0x11), of("clone", 0x1000_0011)]).toEqual([ALLOW, ALLOW, EPERM]);
    expect([of("personality", 0xffff_ffff), of("personality", 0x0040_0000)]).toEqual([ALLOW, EPERM]);
    expect([of("ioctl", 0, 0x5413), of("ioctl", 0, 0x5412)]).toEqual([ALLOW, EPERM]);
    expect(of("clone", 0x0001_0900)).toBe(EPERM); // a thread with descriptors of its own
    expect([of("close_range", 3, 9, 0), of("close_range", 3, 9, 2)]).toEqual([ALLOW, EINVAL]);
    expect(run(filter, { arch: 0x4000_0003, number: 0 })).toBe(KILL);
  },
);

test.each(["x64", "arm64"] as const)(
  "the filter for %s allows the usual sockets only, and no memory that no process accounts for",
  (name: Architecture) => {
    const filter = systemCallFilter(name) ?? Buffer.alloc(0);
    const of = (call: keyof (typeof numbers)["x64"], ...args: number[]): number =>
      run(filter, { arch: ARCHITECTURES[name], number: numbers[name][call], args });
    expect([of("msgget"), of("semget"), of("mq_open"), of("vmsplice")]).toEqual([ENOSYS, ENOSYS, ENOSYS, ENOSYS]);
    expect(of("sendfile")).toBe(EINVAL);
    const [unix, inet, inet6, netlink, vsock] = [1, 2, 10, 16, 40];
    expect([unix, inet, inet6, netlink].map((family) => of("socket", family, 1, 0))).toEqual(Array(4).fill(ALLOW));
    expect([of("socket", netlink, 3, 9), of("socket", vsock, 1, 0)]).toEqual([EAFNOSUPPORT, EAFNOSUPPORT]);
    expect([of("socketpair", unix, 1, 0), of("socketpair", 30, 1, 0)]).toEqual([ALLOW, EAFNOSUPPORT]);
    const [SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, SO_ZEROCOPY] = [2, 7, 8, 60];
    const options = [SO_REUSEADDR, SO_SNDBUF, SO_RCVBUF, SO_ZEROCOPY].map((option) => of("setsockopt", 5, 1, option));
    expect(options).toEqual([ALLOW, IGNORE, IGNORE, EPERM]);
    expect(of("setsockopt", 5, 6, SO_SNDBUF)).toBe(ALLOW); // another level
    expect([of("getsockopt", 5, 6, 11), of("getsockopt", 5, 6, 35)]).toEqual([ALLOW, EPERM]);
  },
);

test("x32 calls fail as on a kernel without them", () => {
  const filter = systemCallFilter("x64") ?? Buffer.alloc(0);
  expect(run(filter, { arch: ARCHITECTURES.x64, number: 0x4000_0000 + 521 })).toBe(ENOSYS);
});

test("an architecture without a table has no filter", () => {
  expect(systemCallFilter("riscv64")).toBeUndefined();
});
