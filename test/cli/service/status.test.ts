import { describe, expect, test } from 'vitest'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { aBoxRow, aHost, aRollout, rolloutId } from '../../support/records.ts'

const ready = (installation: string | null) => ({
  ready: true,
  version: '0.1.0',
  installation,
  time: '2026-01-05T02:00:00.000Z',
  checks: {},
})
const none: Answers = {
  'GET /readyz': ready(null),
  'GET /api/admin/v1/alerts': { alerts: [], nextCursor: null, deadLetters: [] },
  'GET /admin/tenant-boxes/rollouts': { rollouts: [], nextCursor: null, emergencyLacks: ['approval_token', 'recovery'] },
  'GET /api/admin/v1/hosts': { hosts: [] },
  'GET /api/admin/v1/boxes': { boxes: [], nextCursor: null },
}
const alert = (id: number) => ({ id, severity: id === 6 ? 'critical' : 'warning', title: `Host host-${id} is offline` })
const busy: Answers = {
  'GET /readyz': ready('Nord, production'),
  'GET /api/admin/v1/alerts': { alerts: [1, 2, 3, 4, 5, 6].map(alert), nextCursor: null, deadLetters: [] },
  'GET /admin/tenant-boxes/rollouts': {
    rollouts: [aRollout({ status: 'paused' }), aRollout({ status: 'done' })],
    nextCursor: null,
    emergencyLacks: [],
  },
  'GET /api/admin/v1/hosts': {
    hosts: [aHost({ name: 'host-1' }), aHost({ name: 'host-2', status: 'offline' }), aHost({ status: 'revoked' })],
  },
  'GET /api/admin/v1/boxes': {
    boxes: [
      aBoxRow({ slug: 'oak', severity: 'none' }),
      aBoxRow({ slug: 'elm', severity: 'major', health: { state: 'down', failing: ['synapse'], why: 'synapse is exited', since: null } }),
      aBoxRow({ slug: 'ash', status: 'removed', health: null }),
    ],
    nextCursor: null,
  },
}

describe('status', () => {
  test('shows alerts, rollouts, drift and hosts on one screen, and the next command', async () => {
    const { exit, stdout } = await tenantry(['status'], { answers: busy, columns: 100 })
    expect(exit).toBe(0)
    expect(stdout.split('\n').length).toBeLessThanOrEqual(24)
    expect(stdout.split('\n')[0]).toMatch(/chats.*1 of 2 chats run; down: elm/)
    expect(stdout).toMatch(/daemon.*Nord, production \(http/)
    expect(stdout).toContain('6 open')
    expect(stdout).toContain('and 2 more: tenantry alerts list')
    expect(stdout).toContain(`${rolloutId}  paused`)
    expect(stdout).toMatch(/drift +.*1 in sync.*1 major/)
    expect(stdout).toMatch(/hosts +.*1 online.*1 offline/)
    expect(stdout).toContain('host-2  offline')
    expect(stdout).toContain('Next: tenantry alerts show 6')
  })

  test('of an empty installation names the first step', async () => {
    const { stdout } = await tenantry(['status'], { answers: none })
    expect(stdout).toMatch(/alerts +none open/)
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /emergencies Emergencies cannot be created: no approval token, no separate recovery key\. fix: `tenantryd doctor` says how/,
    )
    expect(stdout).toContain('Next: tenantry hosts invite <name>')
  })

  test('--json has the counts', async () => {
    const { boxes } = JSON.parse((await tenantry(['status', '--json'], { answers: busy })).stdout)
    expect(boxes).toMatchObject({ total: 2, drift: { none: 1, major: 1 } })
  })
})
