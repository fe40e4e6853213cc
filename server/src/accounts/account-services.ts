import { pathToFileURL } from "node:url";
import type { Feature } from "../lib/features.ts";
import type { Furnish } from "./found-account.ts";

/** What `app` tells this slice of the deployment. */
export interface AccountServices {
  furnishAccount: Furnish;
  accountSettings: {
    dataDir: string;
    /** The S3-compatible store of accounts that name none of their own. */
    s3Endpoint: string | null;
    /** Private networks that addresses given by users may lie in. */
    allowedNetworks: readonly string[];
    /** On in new accounts. */
    defaultFeatures: readonly Feature[];
    /** Those that one user may create; operators may create any number. */
    accountsPerUser: number;
  };
}

/** Where an account without `defloc` keeps its logs and results. */
export function localStorageLocation(dataDir: string, accountId: number): string {
  return `${pathToFileURL(dataDir).href}/accounts/${accountId}/storage`;
}
