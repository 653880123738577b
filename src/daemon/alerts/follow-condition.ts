import { type AlertKind, alertKey, type NewAlert } from '../../core/alerts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { openKeysOf } from './alerts.repo.ts'
import { closeAlerts } from './close-alerts.ts'
import { raiseAlert } from './raise-alert.ts'

type Condition = Readonly<{
  kind: AlertKind
  /** Separates its alerts from others of this kind: the keys begin with it. */
  name: string
  /** All subjects that are in this condition now. */
  present: readonly Omit<NewAlert, 'kind' | 'key' | 'standing'>[]
  /** Nothing is known of such a subject: its alert stays. */
  isUnknown?(subject: string): boolean
  /** Why the others are closed. */
  because: string
}>

/** Raises one alert for each subject in a lasting condition, once, and closes those of subjects that left it. Call it under a lease. */
export async function followCondition({ db, clock }: Readonly<{ db: Db; clock: Clock }>, condition: Condition): Promise<void> {
  const { kind, name, present, isUnknown = () => false, because } = condition
  const keyOf = (subject: string) => alertKey(kind, `${name}:${subject}`)
  const open = new Map(
    (await openKeysOf(db, kind)).filter(({ subject, key }) => key === keyOf(subject)).map(({ subject, key }) => [subject, key]),
  )
  const subjects = new Set(present.map(({ subject }) => subject))
  for (const alert of present) {
    if (open.has(alert.subject)) continue
    await db.transaction().execute((tx) => raiseAlert(tx, clock, { ...alert, kind, key: keyOf(alert.subject), standing: true }))
  }
  const over = [...open].filter(([subject]) => !subjects.has(subject) && !isUnknown(subject))
  for (const [, key] of over) await db.transaction().execute((tx) => closeAlerts(tx, clock, { keys: [key], because }))
}
