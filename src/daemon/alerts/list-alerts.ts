import type { Alert, AlertKind, AlertStatus, DeadLetter } from '../../core/alerts/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { deadLetters, pageOfAlerts } from './alerts.repo.ts'
import { describeAlerts } from './show-alert.ts'

type Query = Readonly<{
  limit: number
  cursor?: string | undefined
  status?: AlertStatus | undefined
  kind?: AlertKind | undefined
  subject?: string | undefined
}>

const mostDeadLetters = 50

/** A page of alerts, and beside them what else was given up: whoever looks here is to see all that nobody will do any more. */
export async function listAlerts(
  { db }: { db: Db },
  { cursor, limit, ...filter }: Query,
): Promise<{ alerts: Alert[]; nextCursor: string | null; deadLetters: DeadLetter[] }> {
  const before = cursor === undefined ? undefined : readCursor(cursor)
  const found = await pageOfAlerts(db, { ...filter, limit: limit + 1, before })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    alerts: await describeAlerts(db, page),
    nextCursor: found.length > limit && last ? `${last.last_at}_${last.id}` : null,
    deadLetters: await deadLetters(db, mostDeadLetters),
  }
}

function readCursor(cursor: string): { lastAt: string; id: number } {
  const [, lastAt, id] = /^([0-9TZ:.-]+)_([0-9]{1,10})$/.exec(cursor) ?? []
  if (lastAt && id) return { lastAt, id: Number(id) }
  throw problem('VALIDATION', 'cursor: give back the nextCursor of the page before', {
    details: [{ path: 'cursor', reason: 'is not a cursor' }],
  })
}
