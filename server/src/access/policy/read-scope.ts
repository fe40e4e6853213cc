/** Which objects a list shows to the caller; row-access.ts has the SQL. */
export interface ReadScope {
  /** False: everything, because the caller is a system-admin or no policy of the account concerns these objects. */
  readonly isFiltered: boolean;
  /** Whether objects on which no policy has a verdict are shown. */
  readonly byPermission: boolean;
  readonly membershipId: number;
  readonly groupIds: readonly number[];
}
