import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { namedSeries } from '../../../src/daemon/service/index.ts'
import { aProbe, aReport } from '../../support/boxes.ts'
import { aBoxesWorld, manyBoxes } from '../../support/boxes-world.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { leastBlock } from '../../support/longest-block.ts'

const running = {
  image: 'registry.example/tenantry/synapse:1.163.2',
  digest: `sha256:${'a'.repeat(64)}`,
  state: 'running',
  restartCount: 1,
}
const report = {
  ...aReport('any'),
  services: { edge: running, synapse: running, postgres: running, minio: running },
  facts: { schemaVersion: 92, compatVersion: 88, backgroundUpdates: [], collation: 'C', libc: 'glibc', mediaBytes: 5, objectBytes: 6 },
}

const maxBlockMs = 60
const maxScrapeMs = 5000

test('a scrape of 10,000 boxes with ten snapshots each takes seconds at most, and lets requests in between', async () => {
  const { db } = await emptyDatabase('sqlite')
  const world = await aBoxesWorld(db)
  await manyBoxes(world, 10_000)
  await db
    .updateTable('boxes')
    .set({ last_report: JSON.stringify(report), last_probe: JSON.stringify(aProbe()), health: 'running', database_bytes: 123_456 })
    .execute()
  await sql`insert into snapshots (tenant_id, snapshot_id, box_id, slug, tier, taken_at, sha256, status, recorded_at)
    with recursive counted(n) as (select 0 union all select n + 1 from counted where n < 9)
    select tenant_id, id || n, id, slug, 'daily', '2026-01-04T02:00:00.000Z', 'x', 'present', '2026-01-04T02:00:00.000Z'
    from boxes, counted`.execute(db)
  let [text, leastMs] = ['', Number.POSITIVE_INFINITY]
  const scrape = async () => {
    const [parts, began] = [[] as string[], performance.now()]
    for await (const part of namedSeries({ ...world, maxBoxes: 10_000 })) parts.push(part)
    leastMs = Math.min(leastMs, performance.now() - began)
    text = parts.join('')
  }
  expect(await leastBlock(maxBlockMs, scrape)).toBeLessThan(maxBlockMs)
  console.log(`a scrape of 10,000 boxes: ${Math.round(leastMs)} ms, ${(text.length / 1e6).toFixed(1)} MB`)
  expect(leastMs).toBeLessThan(maxScrapeMs)
  expect(text.match(/^tenantry_box_up\{box="t\d{5}"\} 1$/gm)).toHaveLength(10_000)
  expect(text.match(/^tenantry_box_snapshot_age_seconds\{box="t\d{5}"\} 86400$/gm)).toHaveLength(10_000)
})
