import { expect, test } from "vitest";
import { parsePostmasterPid } from "./cluster.ts";

const whole = `6084
/var/lib/headgate/postgres/data
1794717118
24933
/var/lib/headgate/postgres/run
127.0.0.1
  10158091         0
ready   
`;

test("the file of a running server is parsed", () => {
  expect(parsePostmasterPid(whole)).toEqual({
    pid: 6084,
    dataDirectory: "/var/lib/headgate/postgres/data",
    port: 24933,
    socketDir: "/var/lib/headgate/postgres/run",
    status: "ready",
  });
});

test("a partially written file gives the lines it has", () => {
  expect(parsePostmasterPid("6084\n/data\n1794717118\n")).toEqual({
    pid: 6084,
    dataDirectory: "/data",
    port: undefined,
    socketDir: undefined,
    status: undefined,
  });
});

test("the negative pid of a single-user server is parsed", () => {
  expect(parsePostmasterPid("-6084\n/data\n")?.pid).toBe(6084);
});

test.each(["starting", "stopping", "standby"])("the status %s is parsed", (status) => {
  expect(parsePostmasterPid(whole.replace("ready   ", status))?.status).toBe(status);
});

test.each(["", "\n", "0\n", "postgres\n", "12.5\n"])("%j is not a valid pid file", (text) => {
  expect(parsePostmasterPid(text)).toBeUndefined();
});
