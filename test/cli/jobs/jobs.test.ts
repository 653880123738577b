import { expect, test } from 'vitest'
import type { Job } from '../../../src/core/jobs/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/jobs'
const dead: Job = {
  ...{ id: 7, topic: 'chat.space', state: 'dead', tenant: 'anna-schule', about: { spaceId: 'spc_1' }, queue: 'chat:ten_1:spaces' },
  ...{ attempts: 12, lastError: 'it answered 418\u001b[31m', createdAt: at('00:00:00'), nextAt: null },
}
const page = {
  jobs: [dead],
  nextCursor: '7',
  counts: [{ topic: 'chat.space', state: 'dead' as const, count: 3, oldestAt: at('00:00:00') }],
}

test('list shows jobs and counts, passes filters on and prints the retry command', async () => {
  const line = ['jobs', 'list', '--state', 'dead', '--topic', 'chat.space']
  const ran = await tenantry(line, { answers: { [`GET ${base}`]: page } })
  expect(ran.asked[0]?.search).toBe('?state=dead&topic=chat.space')
  expect(ran.stdout).toMatch(/NO +TOPIC +STATUS +TENANT +CREATED +ATTEMPTS +LAST ERROR/)
  expect(ran.stdout).toMatch(/7 +chat\.space +dead +anna-schule +2 h ago +12 +it answered 418/)
  expect(ran.stdout).toMatch(/TOPIC +STATUS +JOBS +FIRST DUE\nchat\.space +dead +3 +2 h ago/)
  expect(ran.stdout).not.toContain('\u001b[31m')
  expect(ran.stdout).toContain('--cursor 7')
  expect(ran.stdout).toContain('tenantry jobs retry')
  const json = await tenantry([...line, '--json'], { answers: { [`GET ${base}`]: page } })
  expect(JSON.parse(json.stdout)).toEqual(page)
})

test('a list without a match says that the counts are of all topics', async () => {
  const answers = { [`GET ${base}`]: { ...page, jobs: [], nextCursor: null } }
  expect((await tenantry(['jobs', 'list', '--topic', 'x'], { answers })).stdout).toMatch(
    /^No unfinished jobs of this topic; all topics:\n\nTOPIC/,
  )
  expect((await tenantry(['jobs', 'list', '--state', 'away'], { answers })).stdout).toMatch(
    /^No unfinished jobs in this state; all topics:\n/,
  )
  const empty = { [`GET ${base}`]: { jobs: [], nextCursor: null, counts: [] } }
  expect((await tenantry(['jobs', 'list', '--topic', 'x'], { answers: empty })).stdout).toBe('No unfinished jobs of this topic.\n')
})

test('show prints the subject of a job and the retry command', async () => {
  const ran = await tenantry(['jobs', 'show', '7'], { answers: { [`GET ${base}/7`]: dead } })
  expect(ran.stdout).toMatch(/spaceId +spc_1/)
  expect(ran.stdout).toMatch(/\nqueue +chat:ten_1:spaces\n/)
  const own = await tenantry(['jobs', 'show', '7'], { answers: { [`GET ${base}/7`]: { ...dead, queue: dead.topic } } })
  expect(own.stdout).not.toMatch(/queue/i)
  expect(ran.stdout).not.toContain('\u001b[31m')
  expect(ran.stdout.trim().split('\n').at(-1)).toBe('After fixing the cause: tenantry jobs retry 7')
})

test('retry takes all dead jobs, the given ones, or one topic', async () => {
  const answers = { [`POST ${base}/retry`]: { retried: 2 } }
  expect((await tenantry(['jobs', 'retry'], { answers })).asked[0]?.body).toEqual({})
  expect((await tenantry(['jobs', 'retry', '--topic', 'chat.space'], { answers })).asked[0]?.body).toEqual({ topic: 'chat.space' })
  const none = await tenantry(['jobs', 'retry', '--topic', 'chat'], { answers: { [`POST ${base}/retry`]: { retried: 0 } } })
  expect(none.stdout).toBe('No dead jobs of topic chat. To list dead jobs: tenantry jobs list --state dead\n')
  const ran = await tenantry(['jobs', 'retry', '7', '8'], { answers })
  expect(ran.asked[0]?.body).toEqual({ ids: [7, 8] })
  expect(ran.stdout).toContain('2 jobs will be retried')
})

test('a job number that is not a number is a usage error', async () => {
  const ran = await tenantry(['jobs', 'show', 'north'])
  expect([ran.exit, ran.asked]).toEqual([2, []])
})
