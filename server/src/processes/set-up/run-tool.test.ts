import { expect, test } from "vitest";
import { mustRun } from "./run-tool.ts";

test("the error names the exit code of a tool that fails, or the timeout", async () => {
  await expect(mustRun("the download", ["/bin/sh", "-c", "exit 3"])).rejects.toThrow(
    /^the download failed \(exit code 3\)$/,
  );
  await expect(mustRun("the download", ["/bin/sleep", "600"], { timeoutMs: 100 })).rejects.toThrow(
    /^the download failed \(it timed out after 0\.1 seconds\)$/,
  );
});
