import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { credentials, region } from "../../server/test/seaweedfs/seaweedfs-server.ts";
import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { median, timed } from "../measure.ts";
import type { BenchCase } from "./bench-case.ts";
import { listFiles } from "./object-folders.ts";
import { printAims } from "./report.ts";

const LIMIT_SECONDS = 1.5;
const RUNS = 10;
const name = "one";

/** Submits copies through the API of an otherwise idle server. */
export const oneFile: BenchCase = {
  does: "one small file from S3 to S3, from its submission to `done`",
  async run({ files, objects, runner, clients, server, closers }) {
    const path = join(files, "one.txt");
    writeFileSync(path, "one small file\n");
    await runner.run(clients.s5cmd("cp", path, `s3://sources/${name}/one.txt`));
    const starting = startHeadgate({ HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8" });
    const stop = (): Promise<void> => starting.then(stopAnyway, () => undefined);
    closers.add(stop);
    const headgate = await starting;
    try {
      const { accessKeyId: storage_access_key, secretAccessKey: storage_secret_key } = credentials;
      const account = { storage_access_key, storage_secret_key, storage_endpoint: server.endpoint, aws_region: region };
      await headgate.call("PUT", "/api/v2/accounts", { account });
      const seconds: number[] = [];
      for (let run = 0; run <= RUNS; run += 1) {
        const copy = {
          command_type: "HadoopCommand",
          sub_command: "s3distcp",
          sub_command_args: `--src s3://sources/${name}/ --dest s3://copies/${name}/${run}/`,
        };
        seconds.push((await timed(() => headgate.run(copy))) / 1000);
      }
      const copies = listFiles(await objects.asFiles("copies", name)).length;
      if (copies !== seconds.length) throw new Error(`${copies} copies instead of ${seconds.length}`);
      const [first = 0, ...others] = seconds;
      console.log(`\none file of 15 bytes through the API: first ${first.toFixed(2)} s, then`);
      const sorted = others.toSorted((a, b) => a - b).map((value) => value.toFixed(2));
      console.log(`  ${sorted.join(" ")} s`);
      return printAims([
        { says: "median from submission to done", value: median(others), unit: " s", max: LIMIT_SECONDS },
      ]);
    } finally {
      closers.delete(stop);
      await stop();
      await objects.remove("sources", name);
      await objects.remove("copies", name);
    }
  },
};

/** Ctrl-C also reaches the server, which may have ended already. */
async function stopAnyway(headgate: BenchHeadgate): Promise<void> {
  await headgate.stop().catch(() => rmSync(headgate.folder, { recursive: true, force: true, maxRetries: 5 }));
}
