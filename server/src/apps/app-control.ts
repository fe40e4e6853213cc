/** The warm servers of apps, as far as this slice needs them; `app` hands it in. It speaks for all nodes. */
export interface AppControl {
  /** Which of these run. */
  listUp(accountId: number, appIds: readonly number[]): Promise<ReadonlySet<number>>;
  /**
   * Call it after the commit that has stopped or deleted the app. Ends the app's servers on all nodes, together with
   * the queries on them. Settles when they are gone, or after some seconds if a node does not report it.
   */
  stop(appId: number): Promise<void>;
}

export interface WithAppControl {
  appControl: AppControl;
}
