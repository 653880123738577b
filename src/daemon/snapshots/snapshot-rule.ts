import type { RetentionRule } from '../../core/snapshots/index.ts'
import type { Config } from '../config/index.ts'

/** How long snapshots are kept, as the settings say. */
export function snapshotRule({ snapshots }: Pick<Config, 'snapshots'>): RetentionRule {
  const { keepDaily: daily, keepWeekly: weekly, keepMonthly: monthly, preUpdateDays, preRestoreDays, manualDays, finalDays } = snapshots
  return { daily, weekly, monthly, preUpdateDays, preRestoreDays, manualDays, finalDays }
}
