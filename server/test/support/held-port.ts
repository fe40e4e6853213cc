import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { listProcesses } from "../../src/lib/process-table.ts";
import { adminCli, urlOf } from "./admin-cli.ts";
import { freePort } from "./free-port.ts";
import { operatorClient, startHeadgate, type HeadgateProcess } from "./headgate-process.ts";
import { inUrl, loopbacks } from "./loopback.ts";
import { submitProgram } from "./programs.ts";
import { install, stubEntry, type Installation } from "./stub-installation.ts";
import { cloneDatabase, type TestDatabase } from "./test-database.ts";

export const PATIENCE = { timeout: 45_000 };
const thief = readFileSync(new URL("port-thief.py", import.meta.url), "utf8");
/** The Python that programs see in their sandbox. */
export const systemPython = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));

export const AWAY = {
  status: 503,
  retryAfter: "5",
  connection: "close",
  body: {
    error: { error_code: 503, error_message: expect.stringContaining("Headgate is starting or has been stopped") },
  },
};

/** An installation on whose port a program of a tenant repeatedly tries to listen. */
export class AttackedPort {
  readonly #installation: Installation;
  readonly #database: TestDatabase;
  headgate: HeadgateProcess;
  port: number;

  private constructor(installation: Installation, database: TestDatabase, port: number) {
    this.#installation = installation;
    this.#database = database;
    this.headgate = installation.headgate;
    this.port = port;
  }

  /** Settles when the thief is running. */
  static async begin(): Promise<AttackedPort> {
    const port = await freePort();
    const database = await cloneDatabase();
    const installation = await install({}, { DATABASE_URL: urlOf(database), HEADGATE_PORT: String(port) });
    const attacked = new AttackedPort(installation, database, port);
    try {
      await attacked.#runThief();
      await attacked.letThemTry();
      return attacked;
    } catch (error) {
      await attacked.end();
      throw error;
    }
  }

  async #runThief(): Promise<void> {
    const operator = operatorClient(this.headgate, this.#installation.dataDir);
    const program = `${systemPython} - ${this.port} "\${JOURNAL%/journal}" <<'END'\n${thief}END\n`;
    const id = await submitProgram(operator, program);
    await vi.waitUntil(async () => (await operator.get(`/commands/${id}`)).pid !== null, PATIENCE);
  }

  async startAgain(settings: Record<string, string> = {}): Promise<void> {
    const { dataDir, settings: before } = this.#installation;
    this.headgate = await startHeadgate(dataDir, { ...before, ...settings }, { entry: stubEntry });
  }

  async end(): Promise<void> {
    // A holder lives as long as the server or a program does.
    if ((await this.holders()).length > 0) await adminCli(this.#installation.settings).run("stop", "--all");
    await vi.waitFor(async () => expect(await this.holders()).toEqual([]), PATIENCE);
    await this.#database.drop();
    this.#installation.remove();
  }

  async holders(): Promise<number[]> {
    const { base } = this.#installation;
    const all = await listProcesses();
    return all
      .filter(({ commandLine }) => commandLine.includes("port-holder.py hold") && commandLine.includes(base))
      .map(({ pid }) => pid);
  }

  async expectServed(): Promise<void> {
    for (const host of loopbacks) expect(await this.ask(host)).toMatchObject({ status: 401 });
  }

  async expectAway(): Promise<void> {
    for (const host of loopbacks) expect(await this.ask(host)).toEqual(AWAY);
  }

  /** A request of another tenant, with its token. */
  async ask(host: string, port = this.port): Promise<object> {
    const reply = await fetch(`http://${inUrl(host)}:${port}/api/v1.2/account`, {
      headers: { "X-AUTH-TOKEN": "hg_of-another" },
    });
    const { status, headers } = reply;
    const [retryAfter, connection] = [headers.get("retry-after"), headers.get("connection")];
    return { status, retryAfter, connection, body: await reply.json().catch(() => "not our form") };
  }

  /** One line for each socket and request that the thief got. */
  stolen(): string {
    return this.#told("stolen");
  }

  /** Settles when the thief has tried several times from now on. */
  async letThemTry(): Promise<void> {
    const rounds = (): number => Number(this.#told("rounds"));
    const before = rounds();
    await vi.waitUntil(() => rounds() > before + 20, PATIENCE);
  }

  endThief(): void {
    writeFileSync(this.#inStorage("enough"), "");
  }

  #told(name: string): string {
    return existsSync(this.#inStorage(name)) ? readFileSync(this.#inStorage(name), "utf8") : "";
  }

  #inStorage(name: string): string {
    return join(this.#installation.dataDir, "accounts/1/storage", name);
  }
}
