import type { BenchNode } from "../commands/bench-node.ts";
import { compare, type Side } from "./compare.ts";
import { newAccount, type BenchAccount, type Caller } from "./members.ts";

const FEW = 10_000;
const MANY = 100_000;
const FOLDERS = 1000;
/** One folder in a hundred is readable. */
const READABLE_EVERY = 100;

/** Compares pages of notebooks, of which a member may read one in a hundred, with pages without policies. */
export async function benchNotebooks(node: BenchNode): Promise<boolean> {
  const plain = await accountWithNotebooks(node, "plain", FEW);
  const few = await accountWithNotebooks(node, "few", FEW);
  const many = await accountWithNotebooks(node, "many", MANY);
  for (const account of [few, many]) await hideMostFolders(account);
  await node.sql.query("vacuum (analyze) folder, note, object_policy, policy_rule");
  const page = (title: string, caller: Caller): Side => ({ title, work: () => firstPage(caller) });
  return [
    await compare(
      `a page of ${FEW} notebooks under ${FOLDERS} policies, 1 % readable`,
      page("with policies", few.member),
      page("without", plain.member),
      2,
    ),
    await compare(
      `the same page of ${MANY} notebooks`,
      page(`of ${MANY}`, many.member),
      page(`of ${FEW}`, few.member),
      1.1,
    ),
    // Lists for system-admins never read policies, so they are the baseline.
    await compare(
      "a list in an account without policies",
      page("of a member", plain.member),
      page("of a system-admin", plain.admin),
      1.05,
    ),
  ].every(Boolean);
}

async function firstPage(caller: Caller): Promise<void> {
  const { notebooks } = await caller.call<{ notebooks: unknown[] }>("GET", "/api/v1.2/notebooks");
  if (notebooks.length !== 10) throw new Error(`the page has ${notebooks.length} notebooks instead of 10`);
}

async function accountWithNotebooks(node: BenchNode, name: string, notebooks: number): Promise<BenchAccount> {
  const account = await newAccount(node, name);
  const { accountId } = account;
  await node.sql.query(
    `insert into folder (account_id, type, name)
     select $1, 'notes', 'folder ' || n from generate_series(1, $2::integer) n`,
    [accountId, FOLDERS],
  );
  await node.sql.query(
    `insert into note (account_id, folder_id, name, note_type)
     select $1, f.id, 'note ' || n, 'spark'
       from (select id, row_number() over (order by id) as position from folder where account_id = $1) f,
            generate_series(1, $2::integer / ${FOLDERS}) n`,
    [accountId, notebooks],
  );
  return account;
}

/** Gives each folder a policy that denies everyone; one folder in a hundred allows the member to read. */
async function hideMostFolders({ admin, member }: BenchAccount): Promise<void> {
  const deny = { access: "deny", action: ["all"] };
  const allow = { access: "allow", action: ["read"], condition: { svc_users: [member.membershipId] } };
  for (let number = 1; number <= FOLDERS; number += 1) {
    const policy = JSON.stringify(number % READABLE_EVERY === 0 ? [allow, deny] : [deny]);
    await admin.call("PUT", "/api/v1.2/folders/policy", { location: `Common/folder ${number}`, type: "notes", policy });
  }
}
