import { expect, test } from "vitest";
import { describeCluster } from "./cluster.ts";
import { fingerprint, planSettings, renderSettings } from "./postgres-settings.ts";

const cluster = describeCluster('/srv/it\'s, "here"', undefined);
const endpoint = { socketDir: join("run"), port: 20000 };

function join(name: string): string {
  return `${cluster.folder}/${name}`;
}

test("a folder with quotes and commas in its name is quoted correctly", () => {
  expect(renderSettings(planSettings(endpoint, cluster))).toContain(
    `unix_socket_directories = '"/srv/it''s, ""here""/postgres/run"'\n`,
  );
});

test("any difference in version or settings changes the fingerprint", () => {
  const plain = planSettings(endpoint, cluster);
  const prints = [
    fingerprint("18.4.0", plain),
    fingerprint("18.5.0", plain),
    fingerprint("18.4.0", planSettings({ ...endpoint, port: 20001 }, cluster)),
    fingerprint("18.4.0", planSettings(endpoint, cluster, { work_mem: "5MB" })),
  ];
  expect(new Set(prints).size).toBe(prints.length);
  expect(fingerprint("18.4.0", planSettings(endpoint, cluster))).toBe(prints[0]);
});
