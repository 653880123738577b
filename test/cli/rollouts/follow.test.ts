import { beforeEach, describe, expect, test, vi } from 'vitest'
import { formatStreamMessage } from '../../../src/core/contract/index.ts'
import type { RolloutDetail, RolloutEvent } from '../../../src/core/rollouts/index.ts'
import { type Answers, problemAnswer, tenantry } from '../../support/command-line.ts'
import { anAction, anEvent, aPlan, aPlannedBox, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

/** The questions, and the answers in order; yes without any. */
const prompts = vi.hoisted(() => ({ asked: [] as string[], answers: [] as boolean[] }))
vi.mock('@inquirer/prompts', () => ({
  confirm: async ({ message }: { message: string }) => {
    prompts.asked.push(message)
    return prompts.answers.shift() ?? true
  },
}))
beforeEach(() => {
  prompts.asked.length = 0
  prompts.answers.length = 0
})

const path = `/admin/tenant-boxes/rollouts/${rolloutId}`

/** An event stream that ends after these, like that of a draining daemon. */
const stream =
  (...events: (readonly [string, RolloutEvent])[]) =>
  () =>
    new Response(`: open\n\n${events.map(([id, data]) => formatStreamMessage({ id, event: data.type, data })).join('')}`, {
      headers: { 'content-type': 'text/event-stream' },
    })

const running = aRolloutDetail([anAction('a')])
const ended = (status: 'done' | 'failed' | 'paused' | 'rolled_back'): RolloutDetail =>
  aRolloutDetail([anAction('a', { status: status === 'done' ? 'succeeded' : 'failed' })], {
    status,
    pauseReason: status === 'paused' ? 'a failed' : null,
  })

const endEvent = (status: 'done' | 'failed' | 'paused' | 'rolled_back') =>
  anEvent({
    type: `rollout.${status}`,
    status,
    previousStatus: status === 'paused' ? 'canary' : null,
    reason: status === 'done' ? null : 'a failed',
  })

const story = (status: 'done' | 'failed' | 'paused' | 'rolled_back'): Answers => ({
  'POST /admin/tenant-boxes/rollouts/plan': aPlan([aPlannedBox('a')]),
  'POST /admin/tenant-boxes/rollouts': aRolloutDetail([anAction('a')], { status: 'queued' }),
  [`POST ${path}/start`]: aRollout(),
  [`POST ${path}/resume`]: aRollout(),
  [`GET ${path}`]: [running, ended(status)],
  [`GET ${path}/events`]: stream(['8', endEvent(status)]),
})

const { plan: _, actions: __, lastEventId: ___, ...made } = running
const madeBefore: Answers = { 'GET /admin/tenant-boxes/rollouts': { rollouts: [made], nextCursor: null } }

describe('--wait', () => {
  test.each([
    ['done', 0],
    ['failed', 7],
    ['rolled_back', 7],
    ['paused', 8],
  ] as const)('a rollout that ends %s exits %i, with the result on stdout and progress on stderr', async (status, exit) => {
    const ran = await tenantry(['rollouts', 'create', '--start', '--wait', '--json'], { answers: story(status) })
    expect(ran.exit).toBe(exit)
    expect(JSON.parse(ran.stdout)).toEqual(ended(status))
    expect(ran.stderr).toContain(`rollout ${rolloutId} is in progress (canary)`)
  })
})

describe('a rollout that is done without some boxes', () => {
  const left = { ...ended('done'), counts: { ...running.counts, pending: 0, succeeded: 23, total: 24, skipped: 1, leftOut: 1 } }
  const answers = { ...story('done'), [`GET ${path}`]: [running, left] }

  test.each([
    [[], 9],
    [['--allow-skipped'], 0],
  ] as const)('exits 9 after a wait, unless that is allowed: %s', async (more, exit) => {
    expect((await tenantry(['rollouts', 'resume', rolloutId, '--wait', ...more], { answers })).exit).toBe(exit)
    expect((await tenantry(['rollouts', 'watch', rolloutId, ...more], { answers })).exit).toBe(exit)
  })

  test('says how many', async () => {
    const ran = await tenantry(['rollouts', 'resume', rolloutId, '--wait'], { answers })
    expect(ran.stdout).toMatch(/^status +done \(23 updated, 1 skipped\)$/m)
    const { plan, actions, lastEventId, ...summary } = left
    const list = await tenantry(['rollouts', 'list'], {
      answers: { 'GET /admin/tenant-boxes/rollouts': { rollouts: [summary], nextCursor: null } },
    })
    expect(list.stdout).toContain('done (1 skipped)')
  })
})

test('--watch on a CI terminal writes plain lines', async () => {
  const ran = await tenantry(['rollouts', 'resume', rolloutId, '--watch'], { answers: story('paused'), columns: 80, env: { CI: 'true' } })
  expect(ran.exit).toBe(8)
  expect(ran.stdout).toMatch(/paused: a failed\npaused: 0 of 1 box updated/)
})

test('--watch into a pipe writes lines to stdout and ends with the next command', async () => {
  const ran = await tenantry(['rollouts', 'resume', rolloutId, '--watch'], { answers: story('paused') })
  expect(ran.exit).toBe(8)
  expect(ran.stderr).toBe('')
  expect(ran.stdout).toMatch(/paused: a failed\npaused: 0 of 1 box updated/)
  expect(ran.stdout).toContain(`tenantry rollouts resume ${rolloutId}`)
})

test('lines of a watch repeat the --url that the watch was given', async () => {
  const url = 'http://127.0.0.1:9999'
  const ran = await tenantry(['rollouts', 'resume', rolloutId, '--watch', '--url', url], { answers: story('paused') })
  expect(ran.stdout).toContain(`tenantry --url ${url} rollouts resume ${rolloutId}`)
  expect(ran.stdout).not.toContain('tenantry rollouts')
})

test('pending boxes are skipped by name', async () => {
  const ran = await tenantry(['rollouts', 'resume', rolloutId, '--skip', 'a,b'], { answers: story('paused') })
  expect(ran.asked.find(({ path }) => path.endsWith('/resume'))?.body).toEqual({ skipFailed: false, skip: ['a', 'b'] })
})

test('a broken stream continues after the last event', async () => {
  const step = (status: 'pulling' | 'probing', id: string) =>
    [id, anEvent({ action: anAction('a', { status }), at: at('02:00:10') })] as const
  const ran = await tenantry(['rollouts', 'watch', rolloutId], {
    answers: {
      [`GET ${path}`]: [running, ended('done')],
      [`GET ${path}/events`]: [
        stream(step('pulling', '8')),
        problemAnswer(503, { code: 'UNAVAILABLE', message: 'draining', retryable: true }),
        stream(step('probing', '9'), ['10', endEvent('done')]),
      ],
    },
    clock: impatientClock(),
  })
  expect(ran.exit).toBe(0)
  const streams = ran.asked.filter((asked) => asked.path.endsWith('/events'))
  expect(streams.map(({ headers }) => headers.get('last-event-id'))).toEqual(['7', '8', '8'])
  expect(ran.stdout.match(/connection lost/g)).toHaveLength(1)
})

test('a stream that broke after hours is reopened; the 15 minutes start then', async () => {
  const clock = impatientClock()
  const away = problemAnswer(503, { code: 'UNAVAILABLE', message: 'draining', retryable: true })
  const answers = {
    [`GET ${path}`]: [running, ended('done')],
    [`GET ${path}/events`]: [lasting(clock, 3 * 3_600_000), away, stream(['8', endEvent('done')])],
  }
  const ran = await tenantry(['rollouts', 'watch', rolloutId], { answers, clock })
  expect([ran.exit, ran.stderr]).toEqual([0, ''])
})

test('a rollout that does not exist is not waited for', async () => {
  const answers = { [`GET ${path}`]: problemAnswer(404, { code: 'NOT_FOUND', message: 'no such rollout', retryable: false }) }
  const ran = await tenantry(['rollouts', 'watch', rolloutId], { answers })
  expect(ran.exit).toBe(3)
  expect(ran.stderr).toContain('next:  tenantry rollouts list')
})

test('a daemon that stays unreachable ends with exit 6', async () => {
  const ran = await tenantry(['rollouts', 'watch', rolloutId], { answers: { [`GET ${path}`]: running }, clock: impatientClock() })
  expect(ran.exit).toBe(6)
  expect(ran.stderr).toContain('the rollout may still be running')
})

test.each([
  [['create', '--watch'], '--watch and --wait require --start'],
  [['create', '--start', '--watch', '--wait'], 'pass either --watch or --wait'],
])('rollouts %j is a usage error', async (line, says) => {
  const ran = await tenantry(['rollouts', ...line], { answers: story('done') })
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining(says)])
})

test('a blocked plan creates no rollout', async () => {
  const finding = { code: 'NOT_MANAGED', severity: 'refuse', message: 'complete its adoption' } as const
  const answers = {
    ...story('done'),
    'POST /admin/tenant-boxes/rollouts/plan': aPlan([aPlannedBox('a', { does: 'refuse', findings: [finding] })]),
  }
  const ran = await tenantry(['rollouts', 'create', '--start', '--watch'], { answers })
  expect([ran.exit, ran.asked.length]).toEqual([5, 1])
  expect(ran.stderr).toContain('a: complete its adoption')
  expect(ran.stderr).toContain('--skip-refused')
  expect((await tenantry(['rollouts', 'create', '--start', '--wait', '--skip-refused'], { answers })).exit).toBe(0)
})

test('a queued rollout shows its plan and the start command', async () => {
  const ran = await tenantry(['rollouts', 'create'], { answers: story('done') })
  expect(ran.exit).toBe(0)
  expect(ran.stdout).toMatch(/FROM → TO[\s\S]*at a time[\s\S]*queued[\s\S]*start +tenantry rollouts start /)
})

test('the plan is shown on a terminal before the start, not in a script', async () => {
  const person = await tenantry(['rollouts', 'create', '--start'], { answers: story('done'), person: true })
  expect(person.stderr).toMatch(/Images \(pinned by digest[\s\S]*1 box to update/)
  expect(person.asked.map(({ method, path }) => `${method} ${path}`)[0]).toBe('POST /admin/tenant-boxes/rollouts/plan')
  const script = await tenantry(['rollouts', 'create', '--start', '--skip-refused'], { answers: story('done') })
  expect([script.stderr, script.asked.length]).toEqual(['', 2])
})

describe('create --start on a terminal', () => {
  const line = ['rollouts', 'create', '--start']
  const create = 'POST /admin/tenant-boxes/rollouts'
  const callsOf = (asked: readonly { method: string; path: string }[]) => asked.map((one) => `${one.method} ${one.path}`)

  test('asks after the plan, and creates nothing without a yes', async () => {
    prompts.answers = [false]
    const ran = await tenantry(line, { answers: story('done'), person: true })
    expect(prompts.asked).toEqual(['Create and start this rollout of 1 box?'])
    expect([ran.exit, callsOf(ran.asked)]).toEqual([1, [`${create}/plan`]])
    expect(ran.stderr).toMatch(/1 box to update[\s\S]*nothing was changed/)
  })

  test('does not ask with --yes, with --json, or in a script', async () => {
    for (const [more, person] of [
      [['--yes'], true],
      [['--json'], true],
      [[], false],
    ] as const)
      expect((await tenantry([...line, ...more], { answers: story('done'), person })).exit).toBe(0)
    expect(prompts.asked).toEqual([])
  })
})

describe('a rollout over boxes of an unfinished one', () => {
  const other = 'ro_0000000000000000000a'
  const plan = aPlan([aPlannedBox('a')], { activeRollouts: [{ rolloutId: other, status: 'paused', slugs: ['a'] }] })
  const answers = { ...story('done'), 'POST /admin/tenant-boxes/rollouts/plan': plan }

  test('is not created, and the plan names it', async () => {
    const ran = await tenantry(['rollouts', 'create', '--start'], { answers })
    expect([ran.exit, ran.asked.length]).toEqual([5, 1])
    expect(ran.stderr.replace(/\s+/g, ' ')).toContain(`rollout ${other} (paused) has not finished and includes a; no rollout was created`)
    expect(ran.stderr).toMatch(/--queue/)
    const shown = await tenantry(['rollouts', 'plan'], { answers })
    expect(shown.stdout).toContain(`rollout ${other} (paused) has not finished and includes a`)
  })

  test('starts behind it with --queue, and says what it waits for', async () => {
    const queued = { ...answers, [`POST ${path}/start`]: aRollout({ queuedBehind: [other] }) }
    const ran = await tenantry(['rollouts', 'create', '--start', '--queue'], { answers: queued })
    expect([ran.exit, ran.asked.at(-1)?.body]).toEqual([0, { queue: true }])
    expect(ran.stdout).toContain(`for the end of ${other}`)
    const watched = await tenantry(['rollouts', 'watch', rolloutId], {
      answers: { ...queued, [`GET ${path}`]: [{ ...running, queuedBehind: [other] }, ended('done')] },
    })
    expect(watched.stdout).toContain(`waiting for the end of ${other}`)
  })
})

test('a tag moved after the shown plan prevents the start', async () => {
  const image = 'registry.example/synapse:v1.163.2'
  const planOf = (sign: string | null) => {
    const known =
      sign === null ? { digest: null, from: 'first-pull' as const } : { digest: `sha256:${sign.repeat(64)}`, from: 'registry' as const }
    return aPlan([aPlannedBox('a')], { images: [{ image, ...known }] })
  }
  const create = (made: string | null, person: boolean) =>
    tenantry(['rollouts', 'create', '--start'], {
      person,
      answers: {
        ...story('done'),
        'POST /admin/tenant-boxes/rollouts/plan': planOf('a'),
        'POST /admin/tenant-boxes/rollouts': aRolloutDetail([anAction('a')], { status: 'queued', plan: planOf(made) }),
      },
    })
  const moved = await create('b', true)
  expect([moved.exit, moved.asked.map(({ path }) => path).filter((asked) => asked.endsWith('/start'))]).toEqual([5, []])
  expect(moved.stderr).toContain(`${image} was sha256:${'a'.repeat(64)} in the plan and is sha256:${'b'.repeat(64)} now`)
  expect(moved.stderr.replaceAll(/\s+/g, ' ')).toContain(`tenantry rollouts start ${rolloutId}`)
  const away = await create(null, true)
  expect([away.exit, away.stderr.replaceAll(/\s+/g, ' ')]).toEqual([5, expect.stringContaining('is unresolved now')])
  expect([(await create('a', true)).exit, (await create('b', false)).exit]).toEqual([0, 0])
})

test('a rollout that was created but failed to start is named', async () => {
  const refused = problemAnswer(409, { code: 'PLAN_REFUSED', message: '2 boxes are refused', retryable: false })
  const ran = await tenantry(['rollouts', 'create', '--start', '--wait'], {
    answers: { ...story('done'), [`POST ${path}/start`]: refused },
  })
  expect(ran.exit).toBe(5)
  expect(ran.stderr).toContain(`tenantry rollouts start ${rolloutId}`)
  expect(ran.stderr).toContain('--skip-refused')
})

test.each([
  ['done', 0],
  ['paused', 8],
] as const)('a repeated call with a key follows what the first one started, and ends as that did: %s', async (status, exit) => {
  const over = problemAnswer(409, { code: 'INVALID_TRANSITION', message: 'it runs', retryable: false })
  const answers = { ...story(status), ...madeBefore, 'POST /admin/tenant-boxes/rollouts': running, [`POST ${path}/start`]: over }
  const ran = await tenantry(['rollouts', 'create', '--start', '--wait', '--json', '--idempotency-key', 'week-1'], { answers })
  expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([exit, ended(status)])
})

test('a blocked plan names each box with reason and code and creates nothing', async () => {
  const findings = [{ severity: 'refuse' as const, code: 'HOST_OFFLINE' as const, message: 'start its agent' }]
  const answers = { ...story('done'), 'POST /admin/tenant-boxes/rollouts/plan': aPlan([aPlannedBox('a', { does: 'refuse', findings })]) }
  const create = (...more: string[]) => tenantry(['rollouts', 'create', '--start', '--wait', ...more], { answers })
  const [said, forScripts] = [await create(), await create('--json')]
  expect([said.exit, said.asked.length]).toEqual([5, 1])
  expect(said.stderr).toMatch(/^ {2}a: start its agent \[HOST_OFFLINE\]$/m)
  expect(JSON.parse(forScripts.stderr.trim().split('\n').at(-1) as string)).toMatchObject({
    code: 'PLAN_REFUSED',
    violations: ['a: start its agent [HOST_OFFLINE]'],
  })
})

describe('a call with a key', () => {
  const refusing = aPlan([
    aPlannedBox('a', { does: 'refuse', findings: [{ severity: 'refuse', code: 'HOST_OFFLINE', message: 'start its agent' }] }),
  ])
  const answers = { ...story('done'), 'POST /admin/tenant-boxes/rollouts/plan': refusing }
  const line = ['rollouts', 'create', '--start', '--wait', '--idempotency-key', 'week-1']
  const asked = async (more: Answers, given: Parameters<typeof tenantry>[1] = {}) => {
    const ran = await tenantry(line, { answers: { ...answers, ...more }, ...given })
    return { ...ran, posts: ran.asked.filter(({ method }) => method === 'POST').map((one) => one.path) }
  }

  test('that created a rollout before returns it, whatever the plan says now', async () => {
    const again = await asked({ ...madeBefore, 'POST /admin/tenant-boxes/rollouts': running })
    expect([again.exit, again.posts]).toEqual([0, ['/admin/tenant-boxes/rollouts']])
    expect(new URLSearchParams(again.asked[0]?.search).get('idempotencyKey')).toBe('week-1')
  })

  test('that was interrupted before the start starts the rollout, after showing its plan', async () => {
    const queued = aRolloutDetail([anAction('a')], { status: 'queued', plan: aPlan([aPlannedBox('a')]) })
    const again = await asked({ ...madeBefore, 'POST /admin/tenant-boxes/rollouts': queued }, { person: true })
    expect([again.exit, again.posts]).toEqual([0, ['/admin/tenant-boxes/rollouts', `${path}/start`]])
    expect(again.stderr).toContain('1 box to update')
  })

  test('that created none is refused by a blocked plan', async () => {
    const first = await asked({ 'GET /admin/tenant-boxes/rollouts': { rollouts: [], nextCursor: null } })
    expect([first.exit, first.posts]).toEqual([5, ['/admin/tenant-boxes/rollouts/plan']])
  })
})

test('the options of create reach the API', async () => {
  const line = [
    'rollouts',
    'create',
    '--target',
    'a,b',
    '--target',
    'c',
    '--skip-refused',
    '--allow-long-fence',
    '--failure-threshold',
    '2',
    '--hold-after',
    'canary',
  ]
  const ran = await tenantry([...line, '--fence-mode', 'until-proven', '--idempotency-key', 'week-1'], { answers: story('done') })
  expect(ran.exit).toBe(0)
  expect(ran.asked[0]?.body).toEqual({
    targetSlugs: ['a', 'b', 'c'],
    skipRefused: true,
    allowLongFence: true,
    ignoreWindows: false,
    failureThreshold: 2,
    holdAfter: 'canary',
    fenceMode: 'until-proven',
  })
  expect(ran.asked[0]?.headers.get('idempotency-key')).toBe('week-1')
})

test('the trade-off of a fence mode is in the help and shown with the rollout', async () => {
  const help = (await tenantry(['rollouts', 'create', '--help'])).stdout.replace(/\s+/g, ' ')
  expect(help).toMatch(/--fence-mode <mode> when maintenance of a box ends \(default: auto, per box\)/)
  const early = aRolloutDetail([anAction('a')], { fenceMode: 'until-proven' })
  const ran = await tenantry(['rollouts', 'create', '--fence-mode', 'until-proven'], {
    answers: { 'POST /admin/tenant-boxes/rollouts': early },
  })
  expect(ran.stdout).toContain('until-proven: maintenance ends after the quick probes, also where no rollback by images is proven')
  expect((await tenantry(['rollouts', 'create', '--fence-mode', 'never'])).exit).toBe(2)
})

/** Sleeping costs no time: the clock jumps to the end of each sleep. */
/** An event stream without events, until it breaks. */
const lasting = (clock: ReturnType<typeof impatientClock>, ms: number) => () =>
  new Response(
    new ReadableStream({
      pull: async (body) => {
        await clock.sleep(ms)
        body.error(new TypeError('terminated'))
      },
    }),
    { headers: { 'content-type': 'text/event-stream' } },
  )

function impatientClock() {
  let elapsed = 0
  const start = Date.parse(at('02:00:00'))
  return {
    now: () => new Date(start + elapsed),
    monotonicMs: () => elapsed,
    sleep: async (ms: number) => {
      elapsed += ms
    },
  }
}
