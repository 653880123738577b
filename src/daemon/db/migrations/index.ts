import { baseline } from './0001-baseline.ts'
import { notifyAlerts } from './0002-notify-alerts.ts'
import type { Migration } from './migration.ts'

/** All migrations, in the order of their names, in which they are applied. One that was released never changes. */
export const migrations: readonly Migration[] = [baseline, notifyAlerts]
