import { expect, test } from "vitest";
import { mustRun } from "./run-tool.ts";

test("a tool that fails is told with its exit code, and one that takes too long with its time", async () => {
  await expect(mustRun("the download", ["/bin/sh", "-c", "exit 3"])).rejects.toThrow(
    /^the download failed \(exit code 3\)$/,
  );
  await expect(mustRun("the download", ["/bin/sleep", "600"], { timeoutMs: 100 })).rejects.toThrow(
    /^the download failed \(it was killed, or not done after 0\.1 seconds\)$/,
  );
});
