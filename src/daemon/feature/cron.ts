import { Cron as Expression } from 'croner'
import type { Tx } from '../db/index.ts'

/**
 * `finish` ends the run as succeeded in the transaction of its only change, so that a process that is killed leaves both or none. Absent for a run
 * that no history has.
 */
type CronContext = Readonly<{ signal: AbortSignal; finish?(tx: Tx, summary: string): Promise<unknown> }>

/** Work at fixed times. `run` returns a one-line summary; it is idempotent and stops when the signal aborts. */
export type CronDefinition = Readonly<{
  key: string
  /** Five fields, UTC. */
  expression: string
  description: string
  /** A run that fails raises an alert, which the next one closes: for work that comes too late with the next run. */
  isAlerted?: boolean
  run(context: CronContext): Promise<string>
}>

export type Cron = CronDefinition & Readonly<{ nextAfter(at: Date): Date | null }>

/** Throws for an invalid expression, so that a wrong one stops the program at its start. */
export function defineCron(cron: CronDefinition): Cron {
  const expression = new Expression(cron.expression, { timezone: 'UTC', paused: true, mode: '5-part' })
  return { ...cron, nextAfter: (at) => expression.nextRun(at) }
}
