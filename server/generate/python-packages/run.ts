/**
 * Writes the lists of `engines/spark-home/python-packages/`, one for each version of Python:
 * `npm run generate:python-packages`, after another Spark was pinned or `requirements` was changed. pip asks the package
 * index of this machine which wheels there are, and downloads none of them. Takes two minutes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pinnedSpark } from "../../src/engines/spark-home/pinned-spark.ts";
import { mustFindPip } from "../../src/processes/set-up/find-python.ts";
import { mustRun } from "../../src/processes/set-up/run-tool.ts";

/** The versions of CPython that the product supports and that have wheels. */
const pythonVersions = ["3.10", "3.11", "3.12", "3.13", "3.14"];

/**
 * What the extra `pandas_on_spark` of the pinned PySpark requires. The upper bounds are the latest versions that are
 * known to work with it: Spark 4.1 does not know pandas 3.
 */
const requirements = ["numpy>=1.22,<2.4", "pandas>=2.2.0,<3", "pyarrow>=15.0.0,<24", "python-dateutil<3"];

/** The oldest system that has wheels of all packages. A newer one can use the same wheels. */
const platforms = {
  "Linux x64": manylinux("x86_64"),
  "Linux arm64": manylinux("aarch64"),
  "macOS x64": ["macosx_12_0_x86_64"],
  "macOS arm64": ["macosx_12_0_arm64"],
};

function manylinux(processor: string): string[] {
  const minors = Array.from({ length: 28 - 17 + 1 }, (_, index) => 28 - index);
  return [...minors.map((minor) => `manylinux_2_${minor}_${processor}`), `manylinux2014_${processor}`];
}

const work = mkdtempSync(join(tmpdir(), "headgate-generate-"));
const pip = await mustFindPip("the list of Python packages");
try {
  for (const python of pythonVersions) {
    const [first = [], ...others] = Object.values(platforms);
    const found = await resolveWheels(python, first, requirements);
    const pins = found.map(({ name, version }) => `${name}==${version}`);
    const wheels = [...found];
    for (const tags of others) wheels.push(...(await resolveWheels(python, tags, pins)));
    const file = join(import.meta.dirname, `../../src/engines/spark-home/python-packages/${python}.txt`);
    writeFileSync(file, renderList(python, wheels));
    process.stdout.write(`Python ${python}: ${pins.join(", ")}\n`);
  }
} finally {
  rmSync(work, { recursive: true });
}

interface Wheel {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

interface Report {
  readonly install: readonly {
    readonly metadata: { readonly name: string; readonly version: string };
    readonly download_info: { readonly archive_info: { readonly hashes: { readonly sha256: string } } };
  }[];
}

/** Fails if a package has no wheel for the platform. */
async function resolveWheels(python: string, tags: readonly string[], wanted: readonly string[]): Promise<Wheel[]> {
  const reportFile = join(work, "report.json");
  const target = ["--target", join(work, "target"), "--python-version", python, "--implementation", "cp"];
  const asked = ["--dry-run", "--quiet", "--report", reportFile, "--only-binary=:all:", ...target];
  const argv = [...pip, "install", ...asked, ...tags.flatMap((tag) => ["--platform", tag]), ...wanted];
  await mustRun(`the search for wheels of Python ${python} on ${tags[0]}`, argv);
  const report = JSON.parse(readFileSync(reportFile, "utf8")) as Report; // pip's installation report, version 1
  return report.install.map(({ metadata: { name, version }, download_info: { archive_info: archive } }) => ({
    name,
    version,
    sha256: archive.hashes.sha256,
  }));
}

/** A requirements file for pip. A package without compiled code has the same wheel on all platforms. */
function renderList(python: string, wheels: readonly Wheel[]): string {
  const hashes = new Map<string, Set<string>>();
  for (const { name, version, sha256 } of wheels) {
    const pin = `${name}==${version}`;
    hashes.set(pin, (hashes.get(pin) ?? new Set()).add(sha256));
  }
  const entries = [...hashes].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = entries.map(([pin, of]) => [pin, ...[...of].map((hash) => `    --hash=sha256:${hash}`)].join(" \\\n"));
  const systems = Object.keys(platforms).join(", ");
  return `# The extra pandas_on_spark of PySpark ${pinnedSpark.version} for CPython ${python}: ${systems}.
# Written by \`npm run generate:python-packages\`.
${lines.join("\n")}
`;
}
