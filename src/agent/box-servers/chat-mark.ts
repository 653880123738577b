import { z } from 'zod'
import { asJson, problem } from '../../core/kit/index.ts'
import type { ChatMark, Written } from '../ports/index.ts'
import { type EngineBox, inspectBox } from './box-view.ts'
import { databaseLogin, literal, runSql } from './sql.ts'

const Mark = z.object({ position: z.number().int(), lastEvents: z.array(z.string()).max(20) })

/** Events that were not stored yet have no position; those of a history that was fetched later have a negative one. */
export const markSql = `select json_build_object(
  'position', (select coalesce(max(stream_ordering), 0) from public.events),
  'lastEvents', (select coalesce(json_agg(event_id), '[]') from (
    select event_id from public.events order by stream_ordering desc nulls last limit 20) newest))::text;
`

export function parseMark(slug: string, printed: string): ChatMark {
  const mark = Mark.safeParse(asJson(printed))
  if (mark.success) return mark.data
  throw problem('RESTORE_FAILED', `The database of ${slug} names its events in an unexpected way`, { cause: mark.error })
}

export async function chatMark({ engine, box }: EngineBox, signal?: AbortSignal): Promise<ChatMark> {
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  return parseMark(box.slug, await runSql({ engine, view, login, signal }, markSql, 'RESTORE_FAILED'))
}

const Counted = z.object({ events: z.number().int(), media: z.number().int(), lastMs: z.number().nullable() })

export async function writtenSince(
  { engine, box }: EngineBox,
  { mark, at }: Readonly<{ mark: ChatMark; at: string }>,
  signal?: AbortSignal,
): Promise<Written> {
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const printed = await runSql({ engine, view, login, signal }, writtenSql(mark.position, Date.parse(at)), 'RESTORE_FAILED')
  const counted = Counted.safeParse(asJson(printed))
  if (!counted.success)
    throw problem('RESTORE_FAILED', `The database of ${box.slug} names its events in an unexpected way`, { cause: counted.error })
  const { lastMs, ...written } = counted.data
  return { ...written, lastAt: lastMs === null ? null : new Date(lastMs).toISOString() }
}

/** Accounts of the platform itself: probes, and drills. */
const ours = literal('@tenantry-%')

const writtenSql = (position: number, sinceMs: number): string => `with
  events as materialized (select received_ts from public.events where stream_ordering > ${position} and sender not like ${ours}),
  media as materialized (select created_ts from public.local_media_repository
    where created_ts > ${sinceMs} and coalesce(user_id not like ${ours}, true) and url_cache is null)
select json_build_object(
  'events', (select count(*) from events), 'media', (select count(*) from media),
  'lastMs', (select greatest((select max(received_ts) from events), (select max(created_ts) from media))))::text;
`
