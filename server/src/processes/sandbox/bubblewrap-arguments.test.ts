import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { renderHiding } from "./bubblewrap-arguments.ts";

test.skipIf(!existsSync("/etc/ssl/certs"))("a file of ours in a visible folder of /etc is covered", () => {
  expect(renderHiding(["/etc/ssl/certs", "/etc/hostname", "/var"])).toEqual({
    cover: ["--tmpfs", "/etc/ssl/certs"],
    seal: ["--remount-ro", "/etc/ssl/certs"],
  });
});
