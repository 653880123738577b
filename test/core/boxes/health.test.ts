import { expect, test } from 'vitest'
import { healthOf, healthSentence } from '../../../src/core/boxes/index.ts'

type Known = Parameters<typeof healthOf>[0]

const service = (state: 'running' | 'restarting' | 'exited' | 'missing') => ({ image: 'x', digest: null, state, restartCount: 0 })
const running = { edge: service('running'), synapse: service('running'), postgres: service('running'), minio: service('running') }
const ok = { ok: true, ms: 1 }
const components = { chatApi: ok, chatSync: ok, database: ok, objectStorage: ok }
const well: Known = {
  live: true,
  managed: true,
  freshness: 'fresh',
  closedBy: null,
  isRestarting: false,
  report: { services: running },
  stored: null,
  probe: { at: '2026-11-29T10:00:00.000Z', verdict: 'ok', components },
  reportedAt: '2026-11-29T10:00:00.000Z',
}
const failed = (error: string) => ({ ok: false, ms: 1, error })

const watched = (
  found: typeof components | Record<keyof typeof components, { ok: boolean; ms: number; error?: string }>,
  restarts = {},
) => ({
  check: { at: '2026-11-29T10:00:01.000Z', verdict: 'ok' as const, components: found },
  restarts,
})

test.each<[string, Partial<Known>, string | undefined, string | null | undefined]>([
  ['all is well', {}, 'running', null],
  ['no probe yet', { probe: null }, 'running', null],
  ['not set up', { live: false }, undefined, undefined],
  ['the chat server was stopped', { report: { services: { ...running, synapse: service('exited') } } }, 'down', 'synapse is exited'],
  ['the database restarts', { report: { services: { ...running, postgres: service('restarting') } } }, 'down', 'postgres is restarting'],
  [
    'the edge is gone',
    { report: { services: { synapse: running.synapse, postgres: running.postgres, minio: running.minio } } },
    'down',
    'edge is missing',
  ],
  [
    'an observed box with an edge of its own',
    { managed: false, report: { services: { ...running, edge: service('missing') } } },
    'running',
    null,
  ],
  ['an observed box without its chat server', { managed: false, report: { services: {} } }, 'down', 'synapse is missing'],
  ['the object store was stopped', { report: { services: { ...running, minio: service('exited') } } }, 'degraded', 'minio is exited'],
  [
    'both were stopped',
    { report: { services: { ...running, minio: service('exited'), synapse: service('missing') } } },
    'down',
    'synapse is missing, minio is exited',
  ],
  [
    'sync fails although all run',
    { probe: { at: well.reportedAt as string, verdict: 'failed', components: { ...components, chatSync: failed('no answer') } } },
    'down',
    'chatSync: no answer',
  ],
  [
    'files fail although all run',
    { probe: { at: well.reportedAt as string, verdict: 'failed', components: { ...components, objectStorage: failed('full') } } },
    'degraded',
    'objectStorage: full',
  ],
  [
    'a check probes before it reports',
    { probe: { at: '2026-11-29T09:59:30.000Z', verdict: 'failed', components: { ...components, chatApi: failed('gone') } } },
    'down',
    'chatApi: gone',
  ],
  [
    'a probe from before the check of the last report says nothing of it',
    { probe: { at: '2026-11-29T09:58:59.999Z', verdict: 'failed', components: { ...components, chatApi: failed('gone') } } },
    'running',
    null,
  ],
  [
    'closed by an update, whatever runs',
    { closedBy: 'update ro_1', report: { services: { ...running, synapse: service('exited') } } },
    'maintenance',
    'closed by update ro_1',
  ],
  ['the host is offline', { freshness: 'offline', closedBy: 'petra' }, 'unknown', 'its host is offline'],
  [
    'the agent found later that the chat does not answer',
    { report: { services: running, watch: watched({ ...components, chatSync: failed('500') }) } },
    'down',
    'chatSync: 500',
  ],
  [
    'the agent found later that it works again',
    {
      report: { services: running, watch: watched(components) },
      probe: { at: '2026-11-29T09:59:30.000Z', verdict: 'failed', components: { ...components, chatApi: failed('gone') } },
    },
    'running',
    null,
  ],
  [
    'a service restarts again and again',
    { report: { services: running, watch: watched(components, { synapse: 4, postgres: 2 }) } },
    'degraded',
    'synapse restarted 4 times within 15 minutes',
  ],
  ['never reported', { freshness: 'never', report: null }, 'unknown', 'its host has not reported it yet'],
])('%s', (_, known, state, why) => {
  const health = healthOf({ ...well, ...known })
  expect([health?.state, health?.why]).toEqual([state, why])
})

test('it says since when, if the stored state is still the state', () => {
  const since = '2026-11-29T09:00:00.000Z'
  expect(healthOf({ ...well, stored: { state: 'running', since } })?.since).toBe(since)
  expect(healthOf({ ...well, stored: { state: 'down', since } })?.since).toBeNull()
})

test('what users need to write is named first', () => {
  const probe = {
    at: well.reportedAt as string,
    verdict: 'failed' as const,
    components: { ...components, objectStorage: failed('x'), database: failed('y') },
  }
  expect(healthOf({ ...well, probe })?.failing).toEqual(['database', 'objectStorage'])
})

test('a fleet says in one sentence whether its chats run', () => {
  const box = (slug: string, state?: 'running' | 'degraded' | 'down' | 'unknown') => ({
    slug,
    health: state ? { state, failing: [], why: null, since: null } : null,
  })
  expect(healthSentence([box('a', 'running'), box('b')])).toEqual({ isGood: true, text: 'the chat runs' })
  expect(healthSentence([box('a', 'running'), box('b', 'running')])).toEqual({ isGood: true, text: 'all 2 chats run' })
  const many = Array.from({ length: 7 }, (_, n) => box(`u${n}`, 'unknown'))
  expect(healthSentence([...many, box('d', 'down'), box('r', 'running')])).toEqual({
    isGood: false,
    text: '1 of 2 chats run; down: d; not known: u0, u1, u2, u3, u4 and 2 more',
  })
  expect(healthSentence([box('a', 'degraded')])).toEqual({ isGood: false, text: 'the chat runs; degraded: a' })
  expect(healthSentence([box('a', 'unknown')])).toEqual({ isGood: false, text: 'whether the chat runs is not known: a' })
})

test('a box that an operator restarts is in maintenance while its services are stopped, and running before and after', () => {
  const stopped = { services: { ...running, synapse: service('exited') } }
  const of = (report: object) => healthOf({ ...well, isRestarting: true, report: report as never })
  expect(of(stopped)).toMatchObject({ state: 'maintenance', why: 'an operator restarts it', failing: ['synapse'] })
  expect(of({ services: running })).toMatchObject({ state: 'running', why: null })
})
