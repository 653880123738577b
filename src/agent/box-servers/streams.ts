import { z } from 'zod'
import { asJson, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, LocalBox, StreamPositions } from '../ports/index.ts'
import { viewBox } from './box-view.ts'
import { databaseLogin, literal, needSql } from './sql.ts'

// A client keeps the token of its last sync, which is a position in each of the chat server's streams. A server that finds itself behind
// such a token gives new messages positions that the client believes to have seen. So a database from before is moved on past every
// position that was ever given out; so are the sequences that name users, states and chains: no number is used twice.

const Positions = z.object({
  sequences: z.record(z.string(), z.number()),
  writers: z.array(z.object({ stream: z.string(), instance: z.string(), position: z.number() })),
})

/** Numbers that may have been taken and never written down. */
const usualMargin = 1_000
/** More than a box of people uses in years, and nothing to a 64-bit number. */
const blindMargin = 1_000_000_000

/** Counts history downwards and is in no token. */
const backfill = 'events_backfill_stream_seq'

/** Where the streams of a database stand; true only while its chat server is stopped. Throws RESTORE_FAILED. */
export async function streamPositions(engine: ContainerEngine, box: LocalBox, signal?: AbortSignal): Promise<StreamPositions> {
  const view = await viewBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const printed = await needSql({ engine, view, login, signal }, positionsSql, 'RESTORE_FAILED')
  const read = Positions.safeParse(asJson(printed))
  if (read.success) return read.data
  throw problem('RESTORE_FAILED', `nobody can read how far the streams of ${box.slug} have come`, { cause: read.error })
}

/** Moves all streams of a loaded database past the given positions. Throws RESTORE_FAILED. */
export async function raiseStreams(
  engine: ContainerEngine,
  box: LocalBox,
  past: StreamPositions | 'unknown',
  signal?: AbortSignal,
): Promise<void> {
  const view = await viewBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const sql = past === 'unknown' ? raiseSql(nothingKnown, blindMargin) : raiseSql(past, usualMargin)
  await needSql({ engine, view, login, signal }, sql, 'RESTORE_FAILED')
}

const positionsSql = `select json_build_object(
  'sequences', (select coalesce(json_object_agg(sequencename, last_value), '{}')
    from pg_sequences where schemaname = 'public' and last_value is not null and sequencename <> '${backfill}'),
  'writers', (select coalesce(json_agg(json_build_object('stream', stream_name, 'instance', instance_name, 'position', stream_id)), '[]')
    from public.stream_positions where stream_id > 0));
`

const nothingKnown: StreamPositions = { sequences: {}, writers: [] }

// What the server wrote down as reached must never be beyond its sequence, or it refuses to start: the sequences go first and further.
const raiseSql = ({ sequences, writers }: StreamPositions, margin: number) => `begin;
select setval(format('public.%I', own.sequencename)::regclass, greatest(own.last_value, past.value::bigint, 1) + ${margin})
from pg_sequences own
left join json_each_text(${literal(JSON.stringify(sequences))}::json) past on past.key = own.sequencename
where own.schemaname = 'public' and own.sequencename <> '${backfill}';
update public.stream_positions own set stream_id = past.position
from json_to_recordset(${literal(JSON.stringify(writers))}::json) as past(stream text, instance text, position bigint)
where own.stream_name = past.stream and own.instance_name = past.instance and own.stream_id > 0 and own.stream_id < past.position;
commit;
`
