import { expect, test } from "vitest";
import { parsePostmasterPid } from "./postmaster-pid.ts";

const whole = `6084
/var/lib/headgate/postgres/data
1794717118
24933
/var/lib/headgate/postgres/run
127.0.0.1
  10158091         0
ready   
`;

test("a running server's file is read", () => {
  expect(parsePostmasterPid(whole)).toEqual({
    pid: 6084,
    dataDirectory: "/var/lib/headgate/postgres/data",
    port: 24933,
    socketDir: "/var/lib/headgate/postgres/run",
    status: "ready",
  });
});

test("a file written in part has what is there", () => {
  expect(parsePostmasterPid("6084\n/data\n1794717118\n")).toEqual({
    pid: 6084,
    dataDirectory: "/data",
    port: undefined,
    socketDir: undefined,
    status: undefined,
  });
});

test("a single-user backend's pid is written negative", () => {
  expect(parsePostmasterPid("-6084\n/data\n")?.pid).toBe(6084);
});

test.each(["starting", "stopping", "standby"])("the status %s is read", (status) => {
  expect(parsePostmasterPid(whole.replace("ready   ", status))?.status).toBe(status);
});

test.each(["", "\n", "0\n", "postgres\n", "12.5\n"])("%j names no process", (text) => {
  expect(parsePostmasterPid(text)).toBeUndefined();
});
