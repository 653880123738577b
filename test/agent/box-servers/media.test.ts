import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sampleMedia } from '../../../src/agent/box-servers/media.ts'
import type { ContainerEngine, LocalBox, MediaSample } from '../../../src/agent/ports/index.ts'
import { createPostgresDatabase, testedDialects } from '../../support/databases.ts'

const box = { slug: 'oak', project: { name: 'box-oak', folder: '/nowhere', composeFile: '/nowhere/compose.yaml' } } as unknown as LocalBox

/** A box whose psql answers so. */
function sampled(answer: (sql: string) => Promise<string>, count = { newest: 2, random: 2 }): Promise<MediaSample> {
  const exec: ContainerEngine['exec'] = async (_, argv, { stdin = '' } = {}) =>
    argv.includes('psql')
      ? { exitCode: 0, stdout: await answer(String(stdin)), stderr: '' }
      : { exitCode: 0, stdout: 'synapse\n', stderr: '' }
  const engine = { exec, containers: async () => [{ id: 'db', service: 'postgres', state: 'running' }] } as unknown as ContainerEngine
  return sampleMedia({ engine, box }, count)
}

test.each([
  ['nothing', ''],
  ['an id that leaves the folder', '{"withoutFile":0,"sample":[{"id":"../../etc","bytes":1,"sha256":null}]}'],
  ['no size', '{"withoutFile":0,"sample":[{"id":"abcdefgh","bytes":null,"sha256":null}]}'],
])('a database that names %s is refused', async (_, printed) => {
  await expect(sampled(async () => printed)).rejects.toMatchObject({
    code: 'RESTORE_FAILED',
    message: expect.stringMatching(/of oak names its media/),
  })
})

describe.skipIf(!testedDialects().some((dialect) => dialect === 'postgres'))('the media of a real database', () => {
  let client: pg.Client
  beforeAll(async () => {
    client = new pg.Client(await createPostgresDatabase())
    await client.connect()
  })
  afterAll(() => client.end())
  beforeEach(async () => {
    // As Synapse 1.97 makes it; later ones add the checksum.
    await client.query(`drop table if exists local_media_repository; create table local_media_repository
      (media_id text, media_type text, media_length integer, created_ts bigint, user_id text, url_cache text)`)
  })

  const add = (id: string, row: { at?: number; bytes?: number | null; user?: string | null; preview?: string } = {}) => {
    const { at = 1, bytes = 7, user = '@anna:oak', preview = null } = row
    const values = [id, bytes, at, user, preview]
    return client.query(
      'insert into local_media_repository (media_id, media_length, created_ts, user_id, url_cache) values ($1, $2, $3, $4, $5)',
      values,
    )
  }
  const ask = async (sql: string) => JSON.stringify((await client.query(sql)).rows[0].json_build_object)
  const paths = async (count?: { newest: number; random: number }) => (await sampled(ask, count)).sample.map(({ path }) => path).sort()
  const pathOf = (id: string) => `local_content/${id.slice(0, 2)}/${id.slice(2, 4)}/${id.slice(4)}`

  test('a database without media has none', async () => {
    expect(await sampled(ask)).toEqual({ withoutFile: 0, sample: [] })
  })

  test('the newest ones and random ones of the others are sampled, each once', async () => {
    const ids = Array.from({ length: 9 }, (_, n) => `picture${n}`)
    for (const [at, id] of ids.entries()) await add(id, { at })
    expect(await paths({ newest: 2, random: 0 })).toEqual(['picture7', 'picture8'].map(pathOf))
    expect(await paths({ newest: 2, random: 20 })).toEqual(ids.map(pathOf))
    const seen = new Set<string>()
    // Each of seven is missed by forty draws of two once in 700,000 times.
    for (let time = 0; time < 40; time++) for (const path of await paths({ newest: 2, random: 2 })) seen.add(path)
    expect([...seen].sort()).toEqual(ids.map(pathOf))
  })

  test('media of probes come last', async () => {
    await add('ofusers', { at: 1 })
    await add('ofprobe', { at: 9, user: '@tenantry-probe:oak' })
    await add('ofnobody', { at: 2, user: null })
    expect(await paths({ newest: 2, random: 0 })).toEqual(['ofnobody', 'ofusers'].map(pathOf))
  })

  test('previews of links and uploads that never came have no file of their own', async () => {
    await add('2026-01-05_abc', { preview: 'https://example.org' })
    await add('awaited', { bytes: null })
    await add('present')
    expect(await sampled(ask)).toEqual({ withoutFile: 2, sample: [{ path: pathOf('present'), bytes: 7, sha256: null }] })
  })

  test('checksums are read where the database knows them', async () => {
    await client.query('alter table local_media_repository add column sha256 text')
    await add('present')
    await client.query(`update local_media_repository set sha256 = '${'a'.repeat(64)}'`)
    expect((await sampled(ask)).sample).toEqual([{ path: pathOf('present'), bytes: 7, sha256: 'a'.repeat(64) }])
  })
})
