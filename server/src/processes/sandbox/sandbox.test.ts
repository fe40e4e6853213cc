import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  existsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { because, NO_ISOLATION } from "../../../test/skip-reasons/skip-reasons.ts";
import type { ConfinedProgram, Identity, ProgramToConfine } from "./confined-program.ts";
import { findTestBubblewrap } from "../../../test/bubblewrap/find-test-bubblewrap.ts";
import { countsTasksByNamespace, openSandbox } from "./sandbox.ts";
import { writeSystemCallFilter } from "./system-call-filter.ts";
import { writeUserFiles } from "./confined-folders.ts";

const isRoot = process.getuid?.() === 0;
const account = { uid: 200_017, gid: 200_017 };
const found = await findTestBubblewrap(isRoot ? account : undefined);
const usable = found.kind === "usable";
const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

interface Case {
  readonly name: string;
  /** The server's user. */
  readonly self: Identity;
  readonly identity: Identity | undefined;
}

/** If the tests run as root, the user `nobody` stands for an unprivileged server's user. */
const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const cases: Case[] = isRoot
  ? [
      { name: "as root", self: own, identity: account },
      { name: "as an unprivileged user", self: { uid: 65_534, gid: 65_534 }, identity: undefined },
    ]
  : [{ name: "as an unprivileged user", self: own, identity: undefined }];

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "headgate-sandbox-"));
  chmodSync(base, 0o711);
});
afterEach(() => rmSync(base, { recursive: true }));

function makeFolder(name: string, owner: Identity, mode = 0o700): string {
  const path = join(base, name);
  mkdirSync(path, { mode });
  chownSync(path, owner.uid, owner.gid);
  return path;
}

function makeFile(path: string, text: string, owner: Identity): string {
  writeFileSync(path, text, { mode: 0o600 });
  chownSync(path, owner.uid, owner.gid);
  return path;
}

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

async function run(program: ConfinedProgram, self: Identity): Promise<Outcome> {
  const [file = "", ...args] = program.argv;
  const input = makeFile(join(base, "descriptor3"), program.descriptor3 ?? "", own);
  const descriptor = openSync(input, "r");
  const identity = program.identity ?? (isRoot ? self : undefined);
  const { cwd, env } = program;
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe", descriptor], ...identity });
  closeSync(descriptor);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { stdout, stderr, code };
}

describe.skipIf(!usable).each(cases)("a confined program, $name", because(NO_ISOLATION), ({ self, identity }) => {
  const user = identity ?? self;
  let program: ProgramToConfine;

  const confine = async (script: string, changes: Partial<ProgramToConfine> = {}): Promise<Outcome> => {
    const sandbox = openSandbox("bubblewrap", found, self.uid, [], writeSystemCallFilter([base]));
    return run(sandbox.confine({ ...program, argv: ["/bin/bash", "-c", script], ...changes }), self);
  };

  beforeEach(async () => {
    const work = makeFolder("work", user);
    const shown = makeFolder("shown", self, 0o755);
    writeFileSync(join(shown, "input"), "given\n", { mode: 0o644 });
    const userFolder = join(base, "user");
    await writeUserFiles(userFolder, { ...user, name: "acct17", home: work });
    program = {
      argv: [],
      env: { PATH: "/usr/bin:/bin", TOLD: "a b\nc" },
      cwd: work,
      readOnly: [shown],
      writable: [work],
      tmpFolder: makeFolder("tmp", user),
      userFolder,
      identity,
    };
  });

  test("reads and writes its own folder as its own user, and can only read other visible folders", async () => {
    const shown = join(base, "shown", "input");
    const script = `id -un; id -u; pwd; echo mine > made; cat made ${shown}; echo no > ${shown}; echo no > /usr/x; echo no > /x; echo no > /etc/x; echo t > /tmp/t`;
    const { stdout, stderr, code } = await confine(script);
    expect(stdout).toBe(`acct17\n${user.uid}\n${program.cwd}\nmine\ngiven\n`);
    expect(stderr.match(/Read-only file system/g)).toHaveLength(4);
    expect(code).toBe(0);
    expect(statSync(join(program.cwd, "made")).uid).toBe(user.uid);
    expect(readFileSync(join(base, "tmp", "t"), "utf8")).toBe("t\n");
  });

  test("has exactly its own environment, none of which appears in a command line", async () => {
    const { argv } = openSandbox("bubblewrap", found, self.uid).confine({ ...program, argv: ["/bin/true"] });
    expect(argv.join(" ")).not.toContain("a b\nc");
    const { stdout } = await confine("env -0 | sort -z | tr '\\0' '|'; tr '\\0' '|' < /proc/1/environ");
    expect(stdout).toMatch(new RegExp(`PATH=/usr/bin:/bin[|]PWD=${program.cwd}[|](SHLVL=\\d[|])?TOLD=a b\nc[|]_=`));
    for (const name of Object.keys(process.env).filter((key) => !/^(PATH|PWD|SHLVL|_|LC_ALL)$/.test(key))) {
      expect(stdout).not.toContain(`${name}=`);
    }
  });

  test.skipIf(python === undefined)(
    "cannot make system calls that Spark does not need",
    because("no Python below /usr"),
    async () => {
      const calls =
        process.arch === "x64" ? [101, 250, 321, 323, 165, 319, 435, 56] : [117, 219, 280, 282, 40, 279, 435, 220];
      const script = `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for number in ${JSON.stringify(calls)}:
    libc.syscall(number, ctypes.c_ulong(0x10000011 if number == ${calls.at(-1)} else 0), 0, 0, 0, 0)
    print(errno.errorcode.get(ctypes.get_errno()))
`;
      const { stdout, stderr } = await confine(`${python} - <<'END'\n${script}END`);
      const [none, no] = ["ENOSYS", "EPERM"];
      expect(stdout.trim().split("\n"), stderr).toEqual([no, no, no, no, no, none, none, no]);
    },
  );

  test("can neither change limits of the kernel nor its own priority", async () => {
    const files = ["sys/kernel/msgmnb", "sys/kernel/ns_last_pid", "self/oom_score_adj", "self/autogroup"];
    const { stdout, stderr } = await confine(files.map((file) => `echo 1 > /proc/${file}`).join("; "));
    expect(stdout).toBe("");
    expect(stderr.match(/Read-only file system|No such file/g), stderr).toHaveLength(files.length);
  });

  test.skipIf(python === undefined)(
    "has the usual families of sockets only, with buffers of the usual size",
    because("no Python below /usr"),
    async () => {
      const script = `
import socket
families = []
for family in range(64):
    try:
        socket.socket(family, socket.SOCK_STREAM if family != 16 else socket.SOCK_RAW).close()
        families.append(family)
    except OSError:
        pass
one, other = socket.socketpair()
before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
print(families, one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before)
`;
      const { stdout, stderr } = await confine(`${python} - <<'END'\n${script}END`);
      expect(stdout, stderr).toMatch(/^\[1, 2, (10, )?16\] True\n$/);
    },
  );

  test.skipIf(python === undefined)(
    "can use Python's processes, locks, queues and shared memory, asynchronous input, and copies of files",
    because("no Python below /usr"),
    async () => {
      const script = `
import asyncio, multiprocessing, shutil, socket
from multiprocessing import shared_memory
def double(number):
    return 2 * number
with multiprocessing.Pool(2) as pool, multiprocessing.Manager() as manager:
    shared = manager.list(pool.map(double, [1, 2]))
    memory = shared_memory.SharedMemory(create=True, size=4096)
    memory.unlink()
    lock = multiprocessing.Lock()
    with lock:
        print(shared, multiprocessing.RawArray("i", 4)[:])
print(asyncio.run(asyncio.to_thread(double, 4)))
with open("from", "wb") as file:
    file.write(b"x" * 100000)
shutil.copyfile("from", "to")
one, other = socket.socketpair()
with open("to", "rb") as file:
    print(one.sendfile(file, count=5), other.recv(9))
`;
      const { stdout, stderr } = await confine(`cat > p.py <<'END'\n${script}END\n${python} p.py`);
      expect(stdout, stderr).toBe("[2, 4] [0, 0, 0, 0]\n8\n5 b'xxxxx'\n");
    },
  );

  test("has a /dev/shm of limited size, and cannot write elsewhere in /dev", async () => {
    const script =
      "head -c 9000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x; echo no > /dev/y; echo fine > /dev/null";
    const { stdout, stderr } = await confine(script, { sharedMemoryBytes: 1024 * 1024 });
    expect(stdout).toBe("1048576\n");
    expect(stderr).toMatch(/No space left on device[^]*\/dev\/y: Read-only file system/);
  });

  test("has its own limit of processes, however many others run under its uid", async () => {
    const others = spawn("/bin/sh", ["-c", "for i in $(seq 60); do sleep 300 & done; echo up; wait"], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
      ...user,
    });
    try {
      await once(others.stdout, "data");
      const script = "for i in $(seq $N); do sleep 300 & done; echo $N; kill $(jobs -p)";
      const env = (count: number): Record<string, string> => ({ PATH: "/usr/bin:/bin", N: String(count) });
      expect(await confine(script, { tasks: 40, env: env(30) })).toMatchObject({ stdout: "30\n", stderr: "" });
      const tooMany = await confine(script, { tasks: 40, env: env(80), argv: ["/bin/sh", "-c", script] });
      expect(tooMany.stderr).toMatch(countsTasksByNamespace() ? /fork/ : /^$/);
    } finally {
      process.kill(-(others.pid ?? 0), "SIGKILL");
    }
  });

  test("cannot affect bubblewrap by its environment variables", async () => {
    const { stdout, stderr } = await confine("echo $LD_PRELOAD", { env: { LD_PRELOAD: "/x.so", PATH: "/usr/bin" } });
    expect(stdout).toBe("/x.so\n");
    expect(stderr).not.toMatch(/(bwrap|^sh|limits).*x\.so/m);
  });

  test.skipIf(identity !== undefined)(
    "cannot see the server's files below the system's folders",
    because("checked for one identity only"),
    async () => {
      const sandbox = openSandbox("bubblewrap", found, self.uid, ["/usr/share", "/usr/bin/env", "/usr/no/such", base]);
      const argv = ["/bin/bash", "-c", "ls /usr/share; cat /usr/bin/env; echo no > /usr/share/x"];
      const { stdout, stderr } = await run(sandbox.confine({ ...program, argv }), self);
      expect(stdout).toBe("");
      expect(stderr).toMatch(/Read-only file system/);
    },
  );

  test("cannot read a file of the server, another account's folder or the socket folder", async () => {
    const other = identity === undefined ? self : { uid: account.uid + 1, gid: account.gid + 1 };
    const secret = makeFile(join(base, "keys"), "secret", self);
    const foreign = makeFile(join(makeFolder("other", other), "data"), "secret", other);
    const listener = createServer().listen(join(makeFolder("sockets", self), "db"));
    await once(listener, "listening");
    const { stdout, stderr } = await confine(`cat ${secret} ${foreign}; ls ${base}/sockets ${base}/other`);
    listener.close();
    expect(stdout).toBe("");
    expect(stderr.match(/No such file/g)).toHaveLength(4);
  });

  test("sees only its own processes, and cannot signal others", async () => {
    const script = `ls /proc | grep -c '^[0-9]'; ls /proc/${process.pid}; kill -0 ${process.pid}; cd /proc/1; cat root/etc/shadow`;
    const { stdout, stderr } = await confine(script);
    expect(Number(stdout)).toBeLessThan(6);
    expect(stderr).toMatch(/\/proc\/\d+'?: No such file/);
    expect(stderr).toMatch(/No such process/);
    expect(stderr).toMatch(/shadow: (No such file|Permission denied)/);
  });

  test("sees nothing else of the machine, and cannot gain privileges", async () => {
    const { stdout } = await confine(
      "ls -d /root /home /var /run /etc/shadow /etc/ssh; grep -E 'NoNewPrivs|CapBnd|CapEff' /proc/self/status",
    );
    expect(stdout.split(/\s+/).filter((word) => word !== "")).toEqual(
      "CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1".split(" "),
    );
  });

  test.skipIf(!usable || !found.disablesNestedNamespaces)(
    "cannot create a user namespace of its own",
    because("this bubblewrap cannot prevent that"),
    async () => {
      expect((await confine("unshare -U true")).code).not.toBe(0);
    },
  );

  test("can connect to the loopback interface", async () => {
    const listener = createServer((socket) => socket.end("hello\n")).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo; // it listens on TCP
    const { stdout } = await confine(
      `cat < /dev/tcp/127.0.0.1/${port}; getent hosts localhost >/dev/null && echo named`,
    );
    listener.close();
    expect(stdout).toBe("hello\nnamed\n");
  });

  test("leads its own session and process group, writes no core files and has a limit of descriptors", async () => {
    const stat = "cut -d ' ' -f 1,5,6 /proc/$$/stat";
    const { stdout } = await confine(`${stat}; ulimit -c; ulimit -n`, { openFiles: 512 });
    expect(stdout).toMatch(/^(\d+) \1 \1\n0\n512\n$/);
  });

  test("passes on its exit code, and a signal as 128 plus its number", async () => {
    expect((await confine("exit 7")).code).toBe(7);
    expect((await confine("kill -TERM $$")).code).toBe(143);
    expect((await confine("", { argv: ["/no/such/program"] })).code).toBe(127);
  });

  test("has the permission of the innermost folder when folders are nested", async () => {
    const outer = program.cwd;
    mkdirSync(join(outer, "fixed"));
    chmodSync(join(outer, "fixed"), 0o777);
    const script = `touch ${outer}/a; touch ${outer}/fixed/b`;
    const { stderr } = await confine(script, { readOnly: [join(outer, "fixed")], writable: [outer] });
    expect(stderr).toMatch(/fixed\/b.*Read-only/);
    expect(statSync(join(outer, "a")).uid).toBe(user.uid);
  });
});

const plain: ProgramToConfine = {
  argv: ["/bin/sh", "-c", "ulimit -c; ulimit -n; id -u; echo $A"],
  env: { A: "b" },
  cwd: "/",
  readOnly: [],
  writable: [],
  tmpFolder: "/tmp",
  userFolder: "/tmp",
  identity: isRoot ? account : undefined,
  openFiles: 300,
};

test("without isolation the program still has its user, its environment and its limits", async () => {
  const { stdout } = await run(openSandbox("none", found).confine(plain), own);
  expect(stdout).toBe(`0\n300\n${plain.identity?.uid ?? own.uid}\nb\n`);
});

test("`auto` warns if nothing is isolated, and `bubblewrap` refuses to start without it", () => {
  const missing = { kind: "missing", reason: "bubblewrap is not installed: run it" } as const;
  expect(openSandbox("auto", missing)).toMatchObject({ kind: "none", warning: missing.reason });
  expect(openSandbox("none", missing)).toMatchObject({ kind: "none", warning: undefined });
  expect(() => openSandbox("bubblewrap", missing)).toThrow(missing.reason);
});

test("as root a program needs a uid, and invalid environment variables are refused", () => {
  const bubblewrap = {
    kind: "usable",
    path: "/bwrap",
    version: "0.8",
    setsid: "/s",
    disablesNestedNamespaces: true,
    sizesMemory: true,
  } as const;
  const sandbox = openSandbox("auto", bubblewrap, 0);
  expect(() => sandbox.confine({ ...plain, identity: undefined })).toThrow("a uid of its own");
  expect(() => sandbox.confine({ ...plain, identity: account, env: { "a.b": "" } })).toThrow(
    '"a.b" is not a valid name',
  );
  expect(() => sandbox.confine({ ...plain, identity: account, env: { A: "\0" } })).toThrow("variable A contains a NUL");
  expect(() => sandbox.confine({ ...plain, identity: account, cwd: "here" })).toThrow("not an absolute path");
});

test.skipIf(!usable)("bubblewrap is found with its version", because(NO_ISOLATION), () => {
  expect(found).toMatchObject({ path: expect.stringMatching(/bwrap$/), version: spawnVersion() });
});

function spawnVersion(): string {
  const { stdout } = spawnSync(usable ? found.path : "", ["--version"], { encoding: "utf8" });
  return stdout.replace("bubblewrap", "").trim();
}
