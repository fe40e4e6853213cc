import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AccountClient, Given } from "../support/given.ts";
import { accountTables } from "../support/tenants.ts";
import type { CallerKind } from "./request-arbitrary.ts";

/**
 * An account for one generated request. A request that may change something uses it up; after one that must change
 * nothing, the next request gets it. So every request meets the same world, and shrinking a failure is meaningful.
 * Objects and callers are created when a request needs them.
 */
export class World {
  readonly account: AccountClient;
  readonly #given: Given;
  readonly #objects = new Map<string, Promise<string>>();
  readonly #tokens = new Map<CallerKind, Promise<string | undefined>>();

  private constructor(given: Given, account: AccountClient) {
    this.#given = given;
    this.account = account;
  }

  static async create(given: Given): Promise<World> {
    return new World(given, await given.account());
  }

  object(name: string): Promise<string> {
    const made = this.#objects.get(name) ?? this.#make(name);
    this.#objects.set(name, made);
    return made;
  }

  token(kind: CallerKind): Promise<string | undefined> {
    const made = this.#tokens.get(kind) ?? this.#tokenOf(kind);
    this.#tokens.set(kind, made);
    return made;
  }

  /** A hash of everything that is stored for the account, except the audit log, which records refusals, too. */
  async fingerprint(): Promise<string> {
    tables ??= accountTables(this.#given);
    const parts = [...(await tables).map(({ name }) => name), "account"]
      .filter((name) => name !== "audit_event")
      .map(
        (name) =>
          `select '${name}' as name, md5(string_agg((to_jsonb(t) - '{last_login,last_used_at}'::text[])::text, ',' order by t::text)) as md5
             from ${name} t where ${name === "account" ? "id" : "account_id"} = $1`,
      );
    const rows = await this.#given.app.services.db.system.query(parts.join(" union all "), [this.account.accountId]);
    return JSON.stringify(rows);
  }

  async #tokenOf(kind: CallerKind): Promise<string | undefined> {
    switch (kind) {
      case "admin":
        return this.account.token;
      case "powerless":
        return (await this.#given.member(this.account)).token;
      case "disabled":
      case "pending":
        return (await this.#given.member(this.account, { state: kind, groups: ["system-admin"] })).token;
      case "garbage":
        return `garbage-${this.account.accountId}-0123456789`;
      case "none":
        return undefined;
    }
  }

  async #make(name: string): Promise<string> {
    const { account } = this;
    switch (name) {
      case "group_id":
        return String((await account.post("/groups", { name: "mine" })).group.id);
      case "role_id":
        return String((await account.post("/roles", { name: "mine", policies: "[]" })).roles.id);
      case "users":
        return String((await this.#given.member(account)).membershipId);
      case "ids":
        await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
        return String((await account.get("/whitelist_ip")).account_whitelisted_ips[0].id);
      case "code":
        return (await account.post("/users/invite_new", { invitee_email: `invitee.${account.email}` })).invitation_code;
      case "command_id":
        return String((await account.post("/commands", { command_type: "SparkCommand", cmdline: "own.py" })).id);
      case "app_id":
        return String((await account.post("/api/v2/apps", { name: "mine" })).id);
      case "source_id":
        return String((await account.post("/api/v2/clusters", { labels: ["mine"], engine: { type: "local" } })).id);
      case "cluster_id":
      case "label": {
        // Accounts may use the same label. With the account's id in it, this one names nothing in another account.
        const label = `${name}-of-${account.accountId}`;
        await account.post("/api/v2/clusters", { labels: [label], engine: { type: "local" } });
        return label;
      }
      case "path": {
        // Like the label above.
        const path = `own/file-of-${account.accountId}`;
        await account.put(`/api/v2/files/${path}`, undefined, { rawBody: "mine" });
        return path;
      }
      case "folder_id":
        return String((await this.#makeFolder("identified")).id);
      case "folder":
        return (await this.#makeFolder("located")).location;
      case "note_id": {
        // In a folder, so that a clone of the same name fits into every other folder.
        const location = await this.object("folder");
        return String((await account.post("/notebooks", { name: "mine", location })).id);
      }
      case "dashboard_id": {
        const notebookId = await this.object("note_id");
        return String((await account.post("/notebook_dashboards", { note_id: notebookId, name: "mine" })).id);
      }
      case "account_id":
        return String(account.accountId);
      case "node_id":
        return readFileSync(join(this.#given.dataDir, "node-id"), "utf8").trim();
      case "schema":
        return "default";
      case "table":
        return "no_such_table";
      case "object":
        return `file://${join(this.#given.dataDir, "accounts", String(account.accountId), "storage/no-object")}`;
      default:
        throw new Error(`the fuzz test cannot create an object for ${name}`);
    }
  }

  /** With the account's id in its name, like the labels above. */
  async #makeFolder(name: string): Promise<{ id: number; location: string }> {
    const { accountId } = this.account;
    return (await this.account.post("/folders", { name: `${name}-of-${accountId}`, location: "Common", type: "notes" }))
      .folder;
  }
}

let tables: ReturnType<typeof accountTables> | undefined;
