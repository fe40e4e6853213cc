import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { Database } from "../db/database.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { isoSeconds } from "../lib/clock.ts";
import { ListedAccountView } from "./feature-list.ts";
import { featureSwitches } from "./set-features.ts";
import { listAccounts } from "./store/operator.ts";

/** Lists all accounts of the installation. For operators. */
export const listAllAccounts = operation({
  id: "account_list",
  summary: "List all accounts",
  tag: "Operator",
  method: "GET",
  paths: { v2: "/accounts/all" },
  access: { permission: "operator" },
  query: Type.Object({ ...PageQuery }),
  reply: Type.Object({ paging_info: PagingInfo, accounts: Type.Array(ListedAccountView) }),

  async handle({ query }, { db }: { db: Database }) {
    const page = pageOf(query);
    const rows = await listAccounts(db.system, page);
    return {
      paging_info: pagingInfo(page, rows),
      accounts: shownRows(page, rows).map(({ id, name, plan, parentId, members, features, createdAt }) => ({
        id,
        name,
        plan,
        parent_id: parentId,
        users: members,
        features: featureSwitches(features),
        created_at: isoSeconds(createdAt),
      })),
    };
  },
});
