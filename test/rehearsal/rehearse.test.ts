import { describe, expect, test } from 'vitest'
import { quickRule } from '../../src/core/boxes/index.ts'
import { isoNow } from '../../src/core/kit/index.ts'
import { Rehearsal } from '../../src/core/rollouts/index.ts'
import { applyManifest } from '../../src/daemon/boxes/index.ts'
import { readFleet } from '../../src/rehearsal/index.ts'
import { aManifest } from '../support/boxes.ts'
import { anOperator } from '../support/boxes-world.ts'
import { digestOf, newImage } from '../support/rollout-world.ts'
import { aRehearsal, storeRehearsal, wantNextPostgres } from '../support/upgrade-rehearsals.ts'
import { aFleet, playedBy } from './a-fleet.ts'

const fleet = [
  { slug: 'acme', canary: true },
  { slug: 'beta' },
  { slug: 'cora' },
  { slug: 'dora' },
  { slug: 'prima', plan: 'pro' as const },
  { slug: 'magna', plan: 'dedicated' as const, host: 'big' },
]

describe('a rehearsal', () => {
  test('reports start and downtime of each box of the whole rollout', async () => {
    const { play, world } = await aFleet(fleet)
    const played = await play()
    expect(Rehearsal.parse(played)).toEqual(played)
    expect(played).toMatchObject({ ended: 'done', updates: 6, refused: 0, pauses: [] })
    const { consecutive, spacingMs } = quickRule(world.deps.probe)
    for (const box of played.boxes) {
      expect(box).toMatchObject({ status: 'succeeded', error: null })
      expect(box.fenceMs).toBeGreaterThan((consecutive - 1) * spacingMs)
      expect(box.fenceMs).toBeLessThan(box.worstFenceMs)
    }
    expect(played.makespanMs).toBeLessThan(played.worstMs)
  })

  test('plays an upgrade of PostgreSQL of a rehearsed box, and blocks the others', async () => {
    const { db, world, settings } = await aFleet([{ slug: 'acme', canary: true }, { slug: 'beta' }])
    await wantNextPostgres(db, world)
    await storeRehearsal(db, world, aRehearsal())
    const played = await playedBy({ settings, fleet: await readFleet(db), startIso: isoNow(world.clock) })
    expect(played).toMatchObject({ ended: 'done', updates: 1, refused: 1, pauses: [] })
    expect(played.boxes.find(({ tenantSlug }) => tenantSlug === 'acme')).toMatchObject({ status: 'succeeded', error: null })
  })

  test('keeps to the number of boxes at once and to the bakes of the request', async () => {
    const { play } = await aFleet(fleet)
    const plain = await play()
    const bakeMs = 3 * 60 * 60_000
    const paced = await play({ parallel: 1, bakeMs })
    expect(paced).toMatchObject({ ended: 'done', pauses: [] })
    const [canary, early, light, pro, enterprise] = paced.phases
    for (const [before, after] of [
      [canary, early],
      [early, light],
      [light, pro],
      [pro, enterprise],
    ])
      expect((after?.beginsMs ?? 0) - (before?.endsMs ?? 0)).toBeGreaterThanOrEqual(bakeMs)
    const widthOf = ({ boxes }: Rehearsal) => {
      const inPhase = boxes
        .filter(({ phase }) => phase === 'free_100')
        .map(({ beginsMs, endsMs }) => ({ begins: beginsMs ?? 0, ends: endsMs ?? 0 }))
      return Math.max(...inPhase.map((one) => inPhase.filter(({ begins, ends }) => begins <= one.begins && one.begins < ends).length))
    }
    expect([widthOf(plain), widthOf(paced)]).toEqual([2, 1])
    expect(paced.worstMs).toBeGreaterThanOrEqual(plain.worstMs + 4 * bakeMs)
  })

  test('asks no gate of the manifest, and takes each as passed after its time', async () => {
    const { world, settings } = await aFleet(fleet)
    const gates = { errors: { query: 'sum(errors)', atMost: 1, for: '2h' }, boxes: { query: 'boxes', atLeast: 3 } }
    await applyManifest(world.deps, anOperator, { ...aManifest({ synapse: '1.163.2' }), gates })
    const given = { settings, fleet: await readFleet(world.deps.db), startIso: isoNow(world.clock) }
    const played = await playedBy(given)
    expect(Rehearsal.parse(played)).toEqual(played)
    expect(played).toMatchObject({ ended: 'done', pauses: [], gates: [{ name: 'errors', forMs: 7_200_000 }, { name: 'boxes' }] })
    const [canary, early] = played.phases
    expect((early?.beginsMs ?? 0) - (canary?.endsMs ?? 0)).toBeGreaterThanOrEqual(7_200_000)
    const baked = await playedBy(given, { bakeMs: 3_600_000 })
    expect((baked.phases[1]?.beginsMs ?? 0) - (baked.phases[0]?.endsMs ?? 0)).toBeGreaterThanOrEqual(3 * 3_600_000)
  })

  test('ends with probes of any spacing', async () => {
    const probe = { consecutive: 3, spacingMs: 1000, timeoutMs: 8000 }
    const { play } = await aFleet(
      [
        { slug: 'acme', canary: true },
        { slug: 'prima', plan: 'pro' },
      ],
      { probe },
    )
    expect(await play()).toMatchObject({ ended: 'done', updates: 2, pauses: [] })
  })

  test('does not report a moved tag for the digests of its simulated registry', async () => {
    const { db, world, settings } = await aFleet(fleet)
    await world.started({ targetSlugs: ['acme'] })
    await world.settle()
    const [{ last_report: report } = { last_report: null }] = await db
      .selectFrom('boxes')
      .select('last_report')
      .where('slug', '=', 'acme')
      .execute()
    const really = report?.replaceAll(digestOf(newImage), `sha256:${'e'.repeat(64)}`)
    expect(really).not.toBe(report)
    await db
      .updateTable('boxes')
      .set({ last_report: really ?? null })
      .where('slug', '=', 'acme')
      .execute()
    const played = await playedBy({ settings, fleet: await readFleet(db), startIso: isoNow(world.clock) })
    expect(played).toMatchObject({ ended: 'done', updates: 5, pauses: [] })
  })

  test('finds the failing box and the reason of the pause', async () => {
    const { play } = await aFleet(fleet)
    const { ended, boxes, pauses } = await play({ faults: { failProbes: ['prima'] } })
    expect(boxes.find(({ tenantSlug }) => tenantSlug === 'prima')).toMatchObject({ status: 'rolled_back', error: { code: 'PROBE_FAILED' } })
    expect(pauses).toEqual([
      { atMs: expect.any(Number), phase: 'pro', reason: expect.stringContaining('prima failed and was rolled back') },
    ])
    expect(ended).toBe('done')
  })

  test('reports an offline host', async () => {
    const { play } = await aFleet(fleet)
    const { boxes, pauses } = await play({ faults: { offlineHosts: ['big'] } })
    expect(boxes.find(({ tenantSlug }) => tenantSlug === 'magna')).toMatchObject({ status: 'failed', error: { code: 'HOST_OFFLINE' } })
    expect(pauses.map(({ phase }) => phase)).toEqual(['enterprise'])
  })

  test('refuses faults of unknown boxes and hosts, naming all of them', async () => {
    const { play } = await aFleet(fleet)
    const said = (faults: object) => play({ faults }).catch(({ code, message, details }) => ({ code, message, details }))
    expect(await said({ failProbes: ['acme', 'prma'], failPulls: ['crora'] })).toEqual({
      code: 'VALIDATION',
      message: 'box prma does not exist; box crora does not exist; `tenantry boxes list` shows all',
      details: [
        { path: 'faults.failProbes.1', reason: 'box prma does not exist' },
        { path: 'faults.failPulls.0', reason: 'box crora does not exist' },
      ],
    })
    expect(await said({ offlineHosts: ['bg'] })).toMatchObject({ message: 'host bg does not exist; `tenantry hosts list` shows all' })
  })

  test('is the same for the same seed and differs for another', async () => {
    const { play } = await aFleet(fleet)
    const faults = { probeFailRate: 0.3, slowPullRate: 0.3 }
    const first = await play({ seed: 7, faults })
    expect(await play({ seed: 7, faults })).toEqual(first)
    expect(await play({ seed: 8, faults })).not.toEqual(first)
  })
})
