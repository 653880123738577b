import { z } from 'zod'
import { asJson, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, LocalBox, StreamPositions } from '../ports/index.ts'
import { type EngineBox, inspectBox } from './box-view.ts'
import { databaseLogin, literal, runSql } from './sql.ts'

// A sync token is a position in each stream of the chat server. After a restore, new messages would get positions that clients have already
// seen, so the streams are advanced past every position handed out. The sequences of users, states and chains are advanced too.

const Positions = z.object({
  sequences: z.record(z.string(), z.number()),
  writers: z.array(z.object({ stream: z.string(), instance: z.string(), position: z.number() })),
})

/** Covers numbers that were allocated but not recorded. */
const knownMargin = 1_000
/** More than a box uses in years, but small for a 64-bit number. A 32-bit sequence gets half of what it has left, however often a box is restored. */
const unknownMargin = 1_000_000_000

/** Counts downwards and is not part of a token. */
const backfill = 'events_backfill_stream_seq'

/** Reads the stream positions; valid only while the chat server is stopped. Throws RESTORE_FAILED. */
export async function streamPositions(engine: ContainerEngine, box: LocalBox, signal?: AbortSignal): Promise<StreamPositions> {
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const printed = await runSql({ engine, view, login, signal }, positionsSql, 'RESTORE_FAILED')
  const read = Positions.safeParse(asJson(printed))
  if (read.success) return read.data
  throw problem('RESTORE_FAILED', `Cannot read the stream positions of ${box.slug}`, { cause: read.error })
}

/** Advances all streams of a loaded database past the given positions. Throws RESTORE_FAILED. */
export async function raiseStreams({ engine, box }: EngineBox, past: StreamPositions | 'unknown', signal?: AbortSignal): Promise<void> {
  const view = await inspectBox(engine, box)
  const login = await databaseLogin(engine, view, signal)
  const sql = past === 'unknown' ? raiseSql(nothingKnown, unknownMargin) : raiseSql(past, knownMargin)
  await runSql({ engine, view, login, signal }, sql, 'RESTORE_FAILED')
}

const positionsSql = `select json_build_object(
  'sequences', (select coalesce(json_object_agg(sequencename, last_value), '{}')
    from pg_sequences where schemaname = 'public' and last_value is not null and sequencename <> '${backfill}'),
  'writers', (select coalesce(json_agg(json_build_object('stream', stream_name, 'instance', instance_name, 'position', stream_id)), '[]')
    from public.stream_positions where stream_id > 0));
`

const nothingKnown: StreamPositions = { sequences: {}, writers: [] }

// The server refuses to start when a recorded position is beyond its sequence, so sequences advance first and further.
const raiseSql = ({ sequences, writers }: StreamPositions, margin: number) => `begin;
select setval(format('public.%I', own.sequencename)::regclass, base.value + least(${margin}, (own.max_value - base.value) / 2))
from pg_sequences own
left join json_each_text(${literal(JSON.stringify(sequences))}::json) past on past.key = own.sequencename
cross join lateral (select greatest(own.last_value, past.value::bigint, 1) as value) base
where own.schemaname = 'public' and own.sequencename <> '${backfill}';
update public.stream_positions own set stream_id = past.position
from json_to_recordset(${literal(JSON.stringify(writers))}::json) as past(stream text, instance text, position bigint)
where own.stream_name = past.stream and own.instance_name = past.instance and own.stream_id > 0 and own.stream_id < past.position;
commit;
`
