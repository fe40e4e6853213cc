/** The warm servers of apps, as far as this slice needs them; `app` hands it in. It speaks for all nodes. */
export interface AppControl {
  /** Which of these run. */
  listUp(accountId: number, appIds: readonly number[]): Promise<ReadonlySet<number>>;
  /** Ends its server, and with it what runs there; settles when it is gone. One that does not run stays so. */
  stop(accountId: number, appId: number): Promise<void>;
}

export interface WithAppControl {
  appControl: AppControl;
}
