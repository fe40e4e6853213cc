import type { Feature } from "../lib/features.ts";
import type { AddAccountDefaults } from "./create-account-with-admin.ts";

/** Settings of the deployment, passed in by `app`. */
export interface AccountServices {
  addAccountDefaults: AddAccountDefaults;
  accountSettings: {
    dataDir: string;
    /** The S3-compatible store of accounts without an endpoint of their own. */
    s3Endpoint: string | null;
    /** Private networks that addresses given by users may be in. */
    allowedNetworks: readonly string[];
    /** Enabled in new accounts. */
    defaultFeatures: readonly Feature[];
    /** The number of accounts that one user may create; operators may create any number. */
    accountsPerUser: number;
  };
}
