import { z } from 'zod'
import { asJson, problem } from '../../core/kit/index.ts'
import type { BoxServers, LocalBox, MediaSample } from '../ports/index.ts'
import { type EngineBox, inspectBox } from './box-view.ts'
import { databaseLogin, runSql } from './sql.ts'

const Sampled = z.object({
  withoutFile: z.number().int().min(0),
  // Synapse makes paths of the id; a dump may be of a compromised host.
  sample: z.array(
    z.object({
      id: z.string().regex(/^[A-Za-z0-9_-]{5,255}$/),
      bytes: z.number(),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .nullable(),
    }),
  ),
})

export async function sampleMedia(
  { engine, box }: EngineBox,
  count: Parameters<BoxServers['sampleMedia']>[1],
  signal?: AbortSignal,
): Promise<MediaSample> {
  const view = await inspectBox(engine, box)
  const run = { engine, view, login: await databaseLogin(engine, view, signal), signal }
  const read = Sampled.safeParse(asJson(await runSql(run, sampleSql(count), 'RESTORE_FAILED')))
  if (!read.success) throw unreadable(box, read.error)
  const { withoutFile, sample } = read.data
  return { withoutFile, sample: sample.map(({ id, ...facts }) => ({ ...facts, path: pathOf(id) })) }
}

const unreadable = ({ slug }: LocalBox, cause: Error) =>
  problem('RESTORE_FAILED', `The database of ${slug} names its media in an unexpected way`, { cause })

const pathOf = (id: string): string => `local_content/${id.slice(0, 2)}/${id.slice(2, 4)}/${id.slice(4)}`

// Older databases have no checksums, and NULL is the answer of a JSON object for a column that is not there.
const sampleSql = ({ newest, random }: Parameters<BoxServers['sampleMedia']>[1]): string => `with
  named as materialized (
    select media_id, media_length, created_ts, coalesce(user_id like '@tenantry-%', false) as probes
    from public.local_media_repository where media_length is not null and url_cache is null),
  newest as (select media_id from named order by probes, created_ts desc limit ${newest}),
  others as (select media_id from named where media_id not in (select media_id from newest) order by random() limit ${random}),
  sample as (select media_id from newest union all select media_id from others)
select json_build_object(
  'withoutFile', (select count(*) from public.local_media_repository) - (select count(*) from named),
  'sample', (select coalesce(json_agg(json_build_object('id', media_id, 'bytes', media_length, 'sha256', to_jsonb(own)->>'sha256')), '[]')
    from public.local_media_repository own where media_id in (select media_id from sample)));
`
