import { baseline } from './0001-baseline.ts'
import { health } from './0002-health.ts'
import { failingSince } from './0003-failing-since.ts'
import type { Migration } from './migration.ts'

/** All migrations, in the order of their names, in which they are applied. One that was released never changes. */
export const migrations: readonly Migration[] = [baseline, health, failingSince]
