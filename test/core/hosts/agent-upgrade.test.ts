import { describe, expect, test } from 'vitest'
import { type HostView, planAgentUpgrade, upgradeLack } from '../../../src/core/hosts/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'

const aHost = (name: string, change: Partial<HostView> & { boxes?: number } = {}): HostView => {
  const { boxes = 1, ...others } = change
  const resources = { cpus: 2, memoryBytes: 1, diskBytes: 1, freeDiskBytes: 1, boxes }
  return { name, status: 'online', agentVersion: '0.2.0+aaa', resources, resourcesAt: 'then', ...others } as HostView
}
const wanted = { version: '0.2.1', hosts: [], canary: undefined }
const codeOf = (act: () => unknown) => {
  try {
    act()
    return 'none'
  } catch (error) {
    return isProblem(error) ? error.code : String(error)
  }
}

describe('a plan', () => {
  const all = [
    aHost('c', { boxes: 9 }),
    aHost('b', { boxes: 3 }),
    aHost('a', { boxes: 3 }),
    aHost('new', { agentVersion: '0.2.1+bbb' }),
    aHost('away', { status: 'offline' }),
    aHost('gone', { status: 'revoked' }),
  ]

  test('begins with the fewest boxes, and leaves out what is done or away', () => {
    expect(planAgentUpgrade(all, wanted)).toEqual({
      hosts: ['a', 'b', 'c'],
      upToDate: ['new'],
      leftOut: [{ host: 'away', why: 'it is offline' }],
    })
  })

  test('begins with the named canary, and takes the named hosts only', () => {
    expect(planAgentUpgrade(all, { ...wanted, canary: 'c' }).hosts).toEqual(['c', 'a', 'b'])
    expect(planAgentUpgrade(all, { ...wanted, hosts: ['b', 'gone'] })).toMatchObject({
      hosts: ['b'],
      leftOut: [{ host: 'gone', why: 'it is revoked' }],
    })
  })

  test('tells two builds of one version apart when the commit is named', () => {
    expect(planAgentUpgrade(all, { ...wanted, version: '0.2.1+ccc' }).hosts).toContain('new')
    expect(planAgentUpgrade(all, { ...wanted, version: '0.2.1+bbb' }).upToDate).toEqual(['new'])
  })

  test.each([
    [{ hosts: ['nobody'] }, 'NOT_FOUND'],
    [{ canary: 'nobody' }, 'NOT_FOUND'],
    [{ canary: 'away' }, 'CONFLICT'],
    [{ hosts: ['a'], canary: 'b' }, 'CONFLICT'],
    [{ canary: 'new' }, 'none'],
  ])('of %j ends with %s', (change, code) => {
    expect(codeOf(() => planAgentUpgrade(all, { ...wanted, ...change }))).toBe(code)
  })
})

describe('a host is proven', () => {
  const before = { resourcesAt: 'then', running: ['elm', 'oak'] }
  const box = (slug: string, state: string, why: string | null = null) => ({ slug, health: { state, why } })
  const boxes = [box('elm', 'running'), box('oak', 'running'), box('new', 'down')]
  const checked = { checkedAt: '2026-01-05T02:00:00.000Z' }
  const { resources } = aHost('a')
  const host = (change: Partial<HostView> = {}, more: object = checked) =>
    aHost('a', { agentVersion: '0.2.1+bbb', resourcesAt: 'now', resources: resources && { ...resources, ...more }, ...change })

  test('by its version, a check of all boxes since, and by each box that served before', () => {
    expect(upgradeLack({ host: host(), boxes }, before, '0.2.1')).toBeUndefined()
  })

  test.each([
    ['the former version', host({ agentVersion: '0.2.0+aaa' }), boxes, 'its agent is still 0.2.0+aaa'],
    ['no version', host({ agentVersion: null }), boxes, 'its agent is still of an unknown version'],
    ['silence', host({ status: 'offline' }), boxes, 'it is offline'],
    ['a report of before', host({ resourcesAt: 'then' }), boxes, 'its agent has not checked all boxes yet'],
    ['no check', host({}, {}), boxes, 'its agent has not checked all boxes yet'],
    ['an unchecked box', host({}, { ...checked, uncheckedSince: checked.checkedAt }), boxes, 'its agent has not checked all boxes yet'],
    [
      'a box that is down',
      host(),
      [box('elm', 'running'), box('oak', 'down', 'chat server: stopped')],
      'oak is down: chat server: stopped',
    ],
    ['a box nobody knows of', host(), [box('elm', 'running'), { slug: 'oak', health: null }], 'oak is unknown'],
  ])('not with %s', (_, seen, its, lack) => {
    expect(upgradeLack({ host: seen, boxes: its }, before, '0.2.1')).toBe(lack)
  })

  test('also where a box was removed or is in maintenance meanwhile, or none served before', () => {
    expect(upgradeLack({ host: host(), boxes: [box('elm', 'maintenance')] }, before, '0.2.1')).toBeUndefined()
    expect(upgradeLack({ host: host({}, {}), boxes: [] }, { ...before, running: [] }, '0.2.1')).toBeUndefined()
  })
})
