/** The warm servers of apps, as far as this slice needs them; `app` hands it in. It speaks for all nodes. */
export interface AppControl {
  /** Which of these run. */
  listUp(accountId: number, appIds: readonly number[]): Promise<ReadonlySet<number>>;
  /**
   * After the commit that has stopped or deleted it: its servers end on all nodes, and with them what runs there. Settles
   * when they are gone, or after some seconds when a node does not say so.
   */
  stop(accountId: number, appId: number): Promise<void>;
}

export interface WithAppControl {
  appControl: AppControl;
}
