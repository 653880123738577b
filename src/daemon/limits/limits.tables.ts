type BudgetEpisodeTable = {
  tenant_id: string
  since: string
  last_above_at: string
  /** 0 or 1: an alert was raised. */
  notified: number
}

declare module '../db/database.ts' {
  interface Tables {
    budget_episodes: BudgetEpisodeTable
  }
}
