/** The warm servers of apps on all nodes, as far as this slice needs them; passed in by `app`. */
export interface AppControl {
  /** The apps among these that are running. */
  listUp(accountId: number, appIds: readonly number[]): Promise<ReadonlySet<number>>;
  /**
   * To be called after the commit that stopped or deleted the app. Ends the app's servers on all nodes, with the
   * queries on them. Resolves when they have ended, or after some seconds if a node does not report.
   */
  stop(appId: number): Promise<void>;
}

export interface WithAppControl {
  appControl: AppControl;
}
