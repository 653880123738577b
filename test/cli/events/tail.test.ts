import { expect, test } from 'vitest'
import type { EventRecord } from '../../../src/core/events/index.ts'
import { manualClock } from '../../../src/core/kit/index.ts'
import { problemAnswer, tenantry } from '../../support/command-line.ts'

const path = 'GET /api/admin/v1/events/stream'

const record = (seq: number, some: Partial<EventRecord> = {}): EventRecord => ({
  stream: 'tenant:t1',
  seq,
  tenant: 'anna-schule',
  source: 'core',
  type: 'space.created',
  at: `2026-01-05T02:00:0${seq}.000Z`,
  ids: { spaceId: 's1' },
  audience: 'tenant',
  ...some,
})

const streamOf = (...records: EventRecord[]) =>
  new Response(records.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

/** Runs until the given number of connections was opened, then Ctrl-C. */
async function tailing(options: readonly string[], ...answers: (() => unknown)[]) {
  const stop = new AbortController()
  const clock = manualClock()
  let n = 0
  const answer = () => {
    const next = answers[n++]
    if (next) return next()
    stop.abort()
    return streamOf()
  }
  const sleep = async (ms: number) => void (await Promise.all([clock.advance(ms)]))
  return tenantry(['events', 'tail', ...options], { answers: { [path]: answer }, signal: stop.signal, clock: { ...clock, sleep } })
}

test('a line has time, stream, type, ids and audience', async () => {
  const { stdout, asked } = await tailing(['--tenant', 'anna-schule', '--type', 'space.*', '--last', '3'], () => streamOf(record(1)))
  expect(stdout).toBe('2026-01-05 02:00:01  anna-schule #1  space.created  spaceId=s1  audience: tenant\n')
  expect(asked[0]?.search).toBe('?tenant=anna-schule&type=space.*&last=3')
})

test('--no-follow prints the earlier events and exits', async () => {
  const ran = await tenantry(['events', 'tail', '--last', '1', '--no-follow'], { answers: { [path]: streamOf(record(1)) } })
  expect([ran.exit, ran.stdout.split('\n').length, ran.asked.map(({ search }) => search)]).toEqual([0, 2, ['?last=1&follow=false']])
})

test('a line of a rollout has box, status and step', async () => {
  const rollout = { tenant: null, stream: 'rollout:ro_1', source: 'rollouts', audience: 'none', ids: { rolloutId: 'ro_1' } }
  const { stdout } = await tailing([], () =>
    streamOf(
      record(1, { ...rollout, type: 'rollout.action', box: 'kita-nord', status: 'probing', step: 'probe' }),
      record(2, { ...rollout, type: 'rollout.paused', status: 'paused' }),
    ),
  )
  expect(stdout).toBe(
    '2026-01-05 02:00:01  rollout:ro_1 #1  rollout.action  box=kita-nord  status=probing  step=probe\n' +
      '2026-01-05 02:00:02  rollout:ro_1 #2  rollout.paused  status=paused\n',
  )
})

test('--json prints each record unchanged', async () => {
  const { stdout } = await tailing(['--json'], () => streamOf(record(1), record(2, { tenant: null, stream: 'admin', audience: 'none' })))
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([record(1), record(2, { tenant: null, stream: 'admin', audience: 'none' })])
})

test('after a lost connection it resumes a while before the last event, and prints none twice', async () => {
  const { stdout, asked } = await tailing(
    [],
    () => streamOf(record(1), record(2)),
    () => problemAnswer(503, { code: 'UNAVAILABLE', message: 'later', retryable: true }),
    () => streamOf(record(1), record(2), record(3)),
  )
  expect(stdout.match(/#\d/g)).toEqual(['#1', '#2', '#3'])
  expect(asked.map(({ search }) => search)).toEqual(
    ['?last=10', ...Array(3).fill('?since=2026-01-05T01%3A59%3A02.000Z')].slice(0, 3).concat('?since=2026-01-05T01%3A59%3A03.000Z'),
  )
})

test('a refused request is not retried', async () => {
  const refuse = () => problemAnswer(404, { code: 'NOT_FOUND', message: 'there is no tenant x', retryable: false })
  const { exit, stderr, asked } = await tailing(['--tenant', 'xxx'], refuse)
  expect([exit, asked.length]).toEqual([3, 1])
  expect(stderr).toContain('there is no tenant x')
})

test('control characters of an id never reach the terminal', async () => {
  const { stdout } = await tailing([], () => streamOf(record(1, { ids: { spaceId: 's\u001b[2J' } })))
  expect(stdout).not.toContain('\u001b')
})
