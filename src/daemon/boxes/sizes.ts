import { type BoxSizes, sizesRetentionDays, type VersionsReport } from '../../core/boxes/index.ts'
import { type Clock, isoIn, plural } from '../../core/kit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import type { BoxRecord } from './box-record.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>

const dayMs = 86_400_000
const dayOf = (at: string): string => at.slice(0, 10)

/** Boxes per statement, below the parameter limit of both dialects. */
const chunkSize = 500

/** Stores the sizes in the newest report of each live box under the day of that report. Repeating it replaces them. Returns a summary. */
export async function recordSizes({ db, clock }: Deps, signal?: AbortSignal): Promise<string> {
  const since = isoIn(clock, -dayMs)
  let recorded = 0
  for (let boxes = await reportsAfter(db, { id: '', since }); boxes.length > 0 && !signal?.aborted; ) {
    const sizes = boxes.flatMap(sizesIn)
    if (sizes.length > 0) await saveSizes(db, sizes)
    recorded += sizes.length
    boxes = await reportsAfter(db, { id: boxes.at(-1)?.id ?? '', since })
  }
  return `sizes of ${plural(recorded, 'box', 'boxes')}`
}

const reportsAfter = (db: Db, { id, since }: Readonly<{ id: string; since: string }>) =>
  db
    .selectFrom('boxes')
    .select(['id', 'reported_at', 'last_report'])
    .where('live', '=', 1)
    .where('reported_at', '>', since)
    .where('id', '>', id)
    .orderBy('id')
    .limit(chunkSize)
    .execute()

type Row = Readonly<{ box_id: string; day: string; database_bytes: number | null; media_bytes: number | null; object_bytes: number | null }>

function sizesIn(box: Awaited<ReturnType<typeof reportsAfter>>[number]): Row[] {
  if (box.reported_at === null || box.last_report === null) return []
  const { databaseBytes, facts, handedOver }: VersionsReport = JSON.parse(box.last_report)
  const sizes = {
    database_bytes: whole(databaseBytes),
    media_bytes: whole(facts?.mediaBytes),
    object_bytes: whole(facts?.objectBytes),
  }
  if (handedOver || Object.values(sizes).every((size) => size === null)) return []
  return [{ box_id: box.id, day: dayOf(box.reported_at), ...sizes }]
}

const whole = (bytes: number | null | undefined): number | null => (typeof bytes === 'number' ? Math.round(bytes) : null)

const saveSizes = (db: Db, sizes: readonly Row[]) =>
  db
    .insertInto('box_sizes')
    .values([...sizes])
    .onConflict((conflict) =>
      conflict.columns(['box_id', 'day']).doUpdateSet(({ ref }) => ({
        database_bytes: ref('excluded.database_bytes'),
        media_bytes: ref('excluded.media_bytes'),
        object_bytes: ref('excluded.object_bytes'),
      })),
    )
    .execute()

/** The sizes of a box, oldest day first. */
export async function sizesOf(db: DbOrTx, { id }: Pick<BoxRecord, 'id'>): Promise<BoxSizes[]> {
  const rows = await db.selectFrom('box_sizes').selectAll().where('box_id', '=', id).orderBy('day').execute()
  return rows.map(({ day, database_bytes, media_bytes, object_bytes }) => ({
    day,
    databaseBytes: numberOf(database_bytes),
    mediaBytes: numberOf(media_bytes),
    objectBytes: numberOf(object_bytes),
  }))
}

// PostgreSQL returns a bigint as text.
const numberOf = (bytes: number | string | null): number | null => (bytes === null ? null : Number(bytes))

/** Deletes sizes past their retention. Returns the count in words. */
export async function deleteOldSizes({ db, clock }: Deps): Promise<string> {
  const before = dayOf(isoIn(clock, -sizesRetentionDays * dayMs))
  const { numDeletedRows } = await db.deleteFrom('box_sizes').where('day', '<', before).executeTakeFirst()
  return plural(Number(numDeletedRows), 'old size', 'old sizes of boxes')
}
