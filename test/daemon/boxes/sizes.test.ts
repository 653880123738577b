import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BoxFacts, VersionsReport } from '../../../src/core/boxes/index.ts'
import { isoNow } from '../../../src/core/kit/index.ts'
import { applyReports, boxesFeature } from '../../../src/daemon/boxes/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { aReport } from '../../support/boxes.ts'
import { aBoxesWorld, aLiveBox, anApi, type BoxesWorld } from '../../support/boxes-world.ts'
import { emptyDatabase } from '../../support/databases.ts'

describe.each(['sqlite', 'postgres'] as const)('on %s', (dialect) => {
  let db: Db
  let room: BoxesWorld
  beforeEach(async () => {
    db = (await emptyDatabase(dialect)).db
    room = await aBoxesWorld(db)
    await aLiveBox(room, 'linden')
  })
  afterEach(() => db.destroy())

  const unknown = { schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, freeDiskBytes: null }
  const file = { otherServices: null, wouldRecreate: null, composeChanged: null, notRestorable: null, scaledServices: null }
  const facts = (mediaBytes: number | null): BoxFacts => ({ ...unknown, ...file, mediaBytes, objectBytes: 7 })

  async function report(change: Partial<VersionsReport>): Promise<void> {
    const full = aReport('linden', { at: isoNow(room.clock), ...change })
    await db.transaction().execute((tx) => applyReports({ tx, clock: room.clock }, 'hst_host-1' as never, [full]))
  }
  const deps = () => ({ ...room, log: silentLogger(), owner: 'one' })
  const record = () =>
    boxesFeature
      .crons?.(deps())
      .find(({ key }) => key === 'box-sizes')
      ?.run({ signal: new AbortController().signal } as never)
  const cleanUp = () => boxesFeature.cleanup?.(deps())[0]?.(new AbortController().signal)
  const shown = async () => (await (await anApi(room)).listBoxSizes({ params: { slug: 'linden' } })).days
  const dayMs = 86_400_000

  test('a day has one row, of its last recorded report', async () => {
    await report({ databaseBytes: 100, facts: facts(10) })
    expect(await record()).toBe('sizes of 1 box')
    await report({ databaseBytes: 120.4, facts: facts(null) })
    await record()
    expect(await shown()).toEqual([{ day: isoNow(room.clock).slice(0, 10), databaseBytes: 120, mediaBytes: null, objectBytes: 7 }])
  })

  test('a box without a report of the last day, and a report without sizes, record nothing', async () => {
    await report({})
    expect(await record()).toBe('sizes of 0 boxes')
    await report({ databaseBytes: 100 })
    await room.clock.advance(dayMs)
    expect(await record()).toBe('sizes of 0 boxes')
    expect(await shown()).toEqual([])
  })

  test('the box shows its growth, and sizes older than 30 days are deleted', async () => {
    for (let day = 0; day < 33; day += 1) {
      await report({ databaseBytes: 1_000_000 * day, facts: facts(5) })
      await record()
      await room.clock.advance(dayMs)
    }
    expect(await cleanUp()).toBe('3 old sizes of boxes')
    expect(await shown()).toHaveLength(30)
    const { growth } = await (await anApi(room)).showBox({ params: { slug: 'linden' } })
    expect(growth).toEqual({ bytes: 29_000_000, days: 29, totalBytes: 32_000_012 })
  })
})
