import { wait } from './daemon-process.js'
import { sized } from './size.js'

// A rollout of 1,000 boxes in the browser, at 20 events a second: 100 boxes in progress, each reporting a step every five seconds.

const boxes = sized(1000, 20)
const id = 'ro_0123456789abcdefghjk'
const [eventEveryMs, warmMs, measuredMs] = sized([50, 4000, 10_000], [50, 500, 500])
const versions = { migrationsHead: '0000', postgres: '15.18', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }

/** Runs in the page: answers the calls of the rollout's page and sends its events. */
function answerInPage({ boxes, id, eventEveryMs, versions }) {
  const now = () => new Date().toISOString()
  const slugs = Array.from({ length: boxes }, (_, n) => `school-${String(n).padStart(4, '0')}`)
  const to = { ...versions, synapse: '1.163.2' }
  const action = (slug, given) => ({
    ...{ id: `ro.${slug}`, rolloutId: id, tenantSlug: slug, boxId: `box_${slug}`, hostId: 'host_1', tier: 'free', phase: 'free_100' },
    ...{ status: 'pending', snapshotOk: null, updateOk: null, healthOk: null, rolledBack: false, snapshotId: null, from: versions, to },
    ...{ findings: [], attempt: 0, progress: null, waived: false, rollback: null, waitsUntil: null, expectedFenceMs: 120_000 },
    ...{ startedAt: null, finishedAt: null, durationMs: null, fencedMs: null, error: null, fenceMode: 'until-proven' },
    ...given,
  })
  const over = () => ({ status: 'succeeded', startedAt: now(), finishedAt: now(), durationMs: 240_000, fencedMs: 110_000 })
  const actions = slugs.map((slug, n) => action(slug, n < boxes / 2 ? over() : {}))
  const planned = slugs.map((slug) => ({
    ...{ tenantSlug: slug, phase: 'free_100', does: 'update', findings: [], expectedMs: 240_000, expectedFenceMs: 120_000 },
    ...{ worstFenceMs: 600_000, from: versions, to },
  }))
  const counts = { total: boxes, pending: boxes / 2, running: 0, succeeded: boxes / 2, failed: 0, skipped: 0, leftOut: 0, rollback: null }
  const rollout = {
    ...{ id, kind: 'staged', status: 'free_100', previousStatus: null, pauseReason: null, error: null, reason: null, counts },
    ...{ manifestRevision: 2, failureThreshold: 1, startedAt: now(), createdAt: now(), createdBy: 'anna', finishedAt: null },
    ...{ fenceMode: 'auto', ignoreWindows: false, holdAfter: null, bakeUntil: null, gates: [], targetSlugs: null },
  }
  const plan = {
    kind: 'staged',
    parallel: 100,
    phases: [{ phase: 'free_100', slugs, expectedMs: 1 }],
    boxes: planned,
    updates: boxes,
    refusals: 0,
  }
  const steps = ['pulling', 'snapshotting', 'snapshotting', 'updating', 'probing', 'probing', 'succeeded']
  const reported = (n) => {
    const slug = slugs[boxes / 2 + ((n % 100) + 100 * (Math.floor(n / (100 * steps.length)) % 5))]
    const status = steps[Math.floor(n / 100) % steps.length]
    const progress = { step: status, percent: n % 100, at: now() }
    return action(slug, status === 'succeeded' ? over() : { status, startedAt: now(), progress })
  }
  const events = () =>
    new ReadableStream({
      start(controller) {
        const encoder = new TextEncoder()
        let n = 0
        const send = () => {
          const one = reported(n)
          const event = { type: 'rollout.action', at: now(), rolloutId: id, status: 'free_100', previousStatus: null, reason: null }
          const data = { ...event, action: one, progress: one.progress }
          controller.enqueue(encoder.encode(`id: ${++n + 1}\nevent: rollout.action\ndata: ${JSON.stringify(data)}\n\n`))
          Object.assign(window, { sentEvents: n })
        }
        setInterval(send, eventEveryMs)
      },
    })
  const json = (value) => new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json' } })
  const asked = window.fetch
  window.fetch = async (input, init) => {
    const { pathname } = new URL(String(input), location.origin)
    if (pathname.endsWith(`/${id}/events`)) return new Response(events(), { headers: { 'content-type': 'text/event-stream' } })
    if (pathname.endsWith(`/${id}/report`)) return json({ rollout, timeline: [], pauses: [], steps: [], fence: null })
    if (pathname.endsWith(`/rollouts/${id}`)) return json({ ...rollout, lastEventId: '1', actions, plan })
    return asked(input, init)
  }
}

/** The share of the main thread that the page of the rollout takes. */
export async function liveRollout(page, url) {
  await page.addInitScript(answerInPage, { boxes, id, eventEveryMs, versions })
  await page.goto(`${url}/console/rollouts/${id}`)
  await page.getByRole('region', { name: 'In progress' }).waitFor()
  await wait(warmMs)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    const busyMs = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
    return { busyMs, atMs: performance.now(), sent: await page.evaluate('window.sentEvents') }
  }
  const before = await read()
  await wait(measuredMs)
  const after = await read()
  const tookMs = after.atMs - before.atMs
  return { share: (after.busyMs - before.busyMs) / tookMs, perSecond: (1000 * (after.sent - before.sent)) / tookMs }
}
