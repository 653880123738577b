// The board of `tenantry rollouts watch` over 10,000 boxes, fed as by a daemon: three boxes under way, each reporting a step every two
// seconds or so. A process of its own, so that its CPU time is the board's. Sends its parent the share of one core.

import { paintWith } from '../dist/cli/kit/index.js'
import { showBoard } from '../dist/cli/rollouts/board/show-board.js'
import { systemClock } from '../dist/node/index.js'
import { sized } from './size.js'

const boxes = sized(10_000, 100)
const [eventEveryMs, warmMs, measuredMs] = sized([700, 4000, 20_000], [100, 500, 500])
const versions = { migrationsHead: '0000', postgres: '15.18', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const now = () => new Date().toISOString()
const slugs = Array.from({ length: boxes }, (_, n) => `tenant-${String(n).padStart(5, '0')}`)

const action = (slug, given) => ({
  ...{
    id: `ro.${slug}`,
    rolloutId: 'ro_0123456789abcdefghjk',
    tenantSlug: slug,
    boxId: `box_${slug}`,
    hostId: 'host_1',
    phase: 'free_100',
  },
  ...{ status: 'pending', snapshotOk: null, updateOk: null, healthOk: null, rolledBack: false, snapshotId: null, from: versions },
  ...{ to: { ...versions, synapse: '1.163.2' }, findings: [], attempt: 0, progress: null, waived: false, rollback: null, waitsUntil: null },
  ...{ startedAt: null, finishedAt: null, durationMs: null, fencedMs: null, error: null },
  ...given,
})
const over = { status: 'succeeded', startedAt: now(), finishedAt: now(), durationMs: 240_000, fencedMs: 180_000 }
const actions = slugs.map((slug, n) => action(slug, n < boxes / 2 ? over : {}))
const planned = slugs.map((slug) => ({ tenantSlug: slug, phase: 'free_100', does: 'update', findings: [], expectedMs: 240_000 }))
const detail = {
  ...{ id: 'ro_0123456789abcdefghjk', kind: 'staged', status: 'free_100', previousStatus: null, pauseReason: null, error: null },
  ...{ reason: null, manifestRevision: 2, failureThreshold: 1, startedAt: now(), finishedAt: null, lastEventId: '1', actions },
  plan: { kind: 'staged', parallel: 3, phases: [{ phase: 'free_100', slugs, expectedMs: 1 }], boxes: planned },
}

const steps = ['pulling', 'pulling', 'snapshotting', 'snapshotting', 'updating', 'probing', 'probing', 'probing', 'succeeded']

async function* events(signal) {
  for (let n = 0; !signal.aborted; n++) {
    await systemClock.sleep(eventEveryMs, signal)
    const [box, status] = [boxes / 2 + (n % 3) + 3 * Math.floor(n / (3 * steps.length)), steps[Math.floor(n / 3) % steps.length]]
    const reported = action(
      slugs[box],
      status === 'succeeded' ? over : { status, startedAt: now(), progress: { step: status, percent: n % 100, at: now() } },
    )
    const event = { type: 'rollout.action', at: now(), rolloutId: detail.id, status: 'free_100', previousStatus: null, reason: null }
    yield { id: String(n + 2), data: { ...event, action: reported, progress: reported.progress } }
  }
}

// As a terminal has it: of one that does not say, the drawing asks a program of its own, anew for each frame.
process.stdout.columns = 120
const ending = new AbortController()
/** @satisfies {Partial<import('../dist/cli/kit/index.js').Context>} */
const context = {
  api: /** @type {any} what the board calls */ ({
    rollouts: { getRollout: async () => detail, rolloutEvents: async () => events(ending.signal) },
  }),
  url: 'http://bench',
  clock: systemClock,
  signal: ending.signal,
  stdout: { columns: 120, rows: 40, write: () => true },
  style: () => ({ width: 120, colour: true, paint: paintWith(true), now: new Date() }),
}
const showing = showBoard(/** @type {any} what the board reads */ (context), detail.id)
await systemClock.sleep(warmMs)
const [begun, beganMs] = [process.cpuUsage(), performance.now()]
await systemClock.sleep(measuredMs)
const { user, system } = process.cpuUsage(begun)
process.send({ share: (user + system) / 1000 / (performance.now() - beganMs) })
ending.abort()
await showing.catch(() => undefined)
process.exit(0)
