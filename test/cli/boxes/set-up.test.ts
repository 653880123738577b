import { describe, expect, test } from 'vitest'
import { aManifest, aProbe } from '../../support/boxes.ts'
import { type Answers, problemAnswer, tenantry } from '../../support/command-line.ts'
import { aBoxDetail, aBoxRow, aCommand, at } from '../../support/records.ts'

const box = aBoxDetail()
const provision = [
  'boxes',
  'provision',
  'anna-schule',
  '--host',
  'host-1',
  '--name',
  'Anna',
  '--plan',
  'light',
  '--domain',
  'chat.anna.example',
]
const command = 'GET /api/admin/v1/commands/cmd_1'
const accepted: Answers = {
  'POST /api/admin/v1/boxes': { box: { ...box, status: 'provisioning' }, commandId: 'cmd_1' },
  'GET /api/admin/v1/boxes/anna-schule': box,
}
const pulling = aCommand({
  status: 'running',
  revision: 2,
  progress: [{ step: 'pull', detail: 'synapse', percent: 40, at: at('02:00:02') }],
})

describe('provision', () => {
  test('waits for the agent, prints each step once on stderr, and returns the box', async () => {
    const ran = await tenantry([...provision, '--json'], {
      answers: { ...accepted, [command]: [aCommand({ status: 'queued' }), pulling, pulling, aCommand({ revision: 3 })] },
    })
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, box])
    expect(ran.stderr.split('\n')).toEqual([
      'anna-schule: sent to the agent of host-1',
      'anna-schule: waiting for the agent of host-1',
      'anna-schule: pull images: synapse: 40 %',
      'anna-schule: ready',
      '',
    ])
    const waits = ran.asked.filter(({ path }) => path.includes('/commands/'))
    expect(waits.map(({ search }) => search)).toEqual(['?waitMs=0', '?waitMs=20000&seen=1', '?waitMs=20000&seen=2', '?waitMs=20000&seen=2'])
    expect(ran.asked[0]?.body).toEqual({
      slug: 'anna-schule',
      host: 'host-1',
      name: 'Anna',
      plan: 'light',
      canary: false,
      chatDomain: 'chat.anna.example',
    })
  })

  test('--no-wait returns the accepted box', async () => {
    const ran = await tenantry([...provision, '--no-wait', '--json'], { answers: accepted })
    expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'provisioning' })
    expect(ran.asked).toHaveLength(1)
  })

  test.each([
    ['PULL_FAILED', 6],
    ['PORT_TAKEN', 5],
    ['A_CODE_OF_A_NEWER_AGENT', 1],
  ])('a command that failed with %s exits %i and says why', async (code, exit) => {
    const failed = aCommand({ status: 'failed', error: { code, message: 'because of this' } })
    const ran = await tenantry(provision, { answers: { ...accepted, [command]: failed } })
    expect([ran.exit, ran.stdout]).toEqual([exit, ''])
    expect(ran.stderr).toContain('error: because of this (tenant-box.provision on host-1)')
  })

  test('a command that expired exits 5', async () => {
    const ran = await tenantry(provision, { answers: { ...accepted, [command]: aCommand({ status: 'expired' }) } })
    expect([ran.exit, ran.stderr]).toEqual([5, expect.stringContaining('tenantry hosts show host-1')])
  })

  test('a restarting daemon is retried', async () => {
    const away = problemAnswer(503, { code: 'UNAVAILABLE', message: 'draining', retryable: true })
    let elapsed = 0
    const clock = {
      now: () => new Date(at('02:00:00')),
      monotonicMs: () => elapsed,
      sleep: async (ms: number) => {
        elapsed += ms
      },
    }
    const ran = await tenantry(provision, { answers: { ...accepted, [command]: [pulling, away, away, aCommand({ revision: 3 })] }, clock })
    expect(ran.exit).toBe(0)
  })

  test('versions of the command line override the manifest’s', async () => {
    const ran = await tenantry([...provision, '--synapse', '1.97.0', '--no-wait'], { answers: accepted })
    expect(ran.asked[0]?.body).toMatchObject({ versions: { synapse: '1.97.0' } })
  })
})

describe('check', () => {
  const answers = (probe: unknown): Answers => ({
    'POST /api/admin/v1/boxes/anna-schule/check': { commandId: 'cmd_1' },
    [command]: aCommand({ kind: 'tenant-box.healthcheck', result: { probe } }),
  })

  test('shows the four components', async () => {
    const ran = await tenantry(['boxes', 'check', 'anna-schule'], { answers: answers(aProbe()) })
    expect(ran.exit).toBe(0)
    for (const component of ['chat API', 'chat sync', 'database', 'object storage']) expect(ran.stdout).toContain(component)
  })

  test('a box that is not healthy exits 1', async () => {
    const probe = { ...aProbe(), verdict: 'failed', reason: 'the chat server does not answer' }
    const ran = await tenantry(['boxes', 'check', 'anna-schule'], { answers: answers(probe) })
    expect([ran.exit, ran.stdout]).toEqual([1, expect.stringContaining('anna-schule is failed: the chat server does not answer')])
  })
})

describe('restart', () => {
  const line = ['boxes', 'restart', 'anna-schule', '--reason', 'memory', '-y']
  const answers = (result: unknown): Answers => ({
    'POST /api/admin/v1/boxes/anna-schule/restart': { commandId: 'cmd_1' },
    [command]: aCommand({ kind: 'tenant-box.restart', ...(result as object) }),
  })

  test('shows its duration and the probe afterwards', async () => {
    const ran = await tenantry(line, { answers: answers({ result: { probe: aProbe(), durationMs: 41_000 } }) })
    expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { reason: 'memory' }])
    expect(ran.stdout).toContain('anna-schule was restarted in 41 s.')
    expect(ran.stdout).toContain('object storage')
    const json = await tenantry([...line, '--json'], { answers: answers({ result: { probe: aProbe(), durationMs: 41_000 } }) })
    expect(JSON.parse(json.stdout)).toMatchObject({ id: 'cmd_1', result: { durationMs: 41_000 } })
  })

  test('restarts only the named services', async () => {
    const ran = await tenantry([...line, '--service', 'synapse,minio'], { answers: answers({ result: { probe: aProbe() } }) })
    expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { reason: 'memory', services: ['synapse', 'minio'] }])
  })

  test('ends with the error of its agent, asks on a terminal, and needs a reason', async () => {
    const error = { code: 'PROBE_FAILED', message: 'No 3 consecutive good probes within 10 min' }
    const failed = await tenantry(line, { answers: answers({ status: 'failed', error }) })
    expect([failed.exit, failed.stderr]).not.toEqual([0, ''])
    expect(failed.stderr).toContain('No 3 consecutive good probes within 10 min')
    const box = { 'GET /api/admin/v1/boxes/anna-schule': aBoxDetail() }
    const unasked = await tenantry(line.slice(0, -1), { answers: { ...answers({}), ...box } })
    expect([unasked.exit, unasked.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
    expect((await tenantry(line.slice(0, 3), { answers: answers({}) })).exit).toBe(2)
  })

  test('does not wait with --no-wait', async () => {
    const ran = await tenantry([...line, '--no-wait'], { answers: answers({}) })
    expect([ran.exit, ran.stdout]).toEqual([0, 'Restart requested. Follow it: tenantry boxes follow anna-schule --command cmd_1\n'])
  })
})

test('a box that was ready before is shown without waiting', async () => {
  const ran = await tenantry(provision, { answers: { 'POST /api/admin/v1/boxes': { box, commandId: 'cmd_forgotten' } } })
  expect([ran.exit, ran.stdout]).toEqual([0, expect.stringMatching(/state +running/)])
})

test('a scan does not wait for a host that goes offline, and reports it', async () => {
  const ran = await tenantry(['boxes', 'scan', 'anna-schule'], {
    answers: {
      'POST /api/admin/v1/boxes/scan': { commands: [{ slug: 'anna-schule', commandId: 'cmd_1' }], unreachable: [] },
      [command]: [
        aCommand({ status: 'queued' }),
        aCommand({ status: 'queued', hostStatus: 'offline' }),
        aCommand({ status: 'expired', error: { code: 'COMMAND_EXPIRED', message: 'ten minutes later' } }),
      ],
      'GET /api/admin/v1/manifest': { revision: 4, manifest: aManifest({}), appliedAt: at('01:00:00'), appliedBy: 'anna' },
      'GET /api/admin/v1/boxes': { boxes: [box], nextCursor: null },
    },
  })
  expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('host host-1 of anna-schule is offline')])
  expect(ran.stdout).not.toContain('ten minutes later')
})

test('a check does not wait either', async () => {
  const ran = await tenantry(['boxes', 'check', 'anna-schule'], {
    answers: {
      'POST /api/admin/v1/boxes/anna-schule/check': { commandId: 'cmd_1' },
      [command]: aCommand({ status: 'leased', hostStatus: 'offline' }),
    },
  })
  expect([ran.exit, ran.stderr]).toEqual([6, expect.stringContaining('host host-1 of anna-schule is offline')])
})

test('a command that changes a box waits for an offline host, and reports that once', async () => {
  const away = aCommand({ status: 'running', hostStatus: 'offline' })
  const ran = await tenantry(['boxes', 'maintenance', 'on', 'anna-schule', '--reason', 'new disk'], {
    answers: {
      'POST /api/admin/v1/boxes/anna-schule/maintenance': { commandId: 'cmd_1' },
      [command]: [aCommand({ status: 'running' }), away, away, aCommand()],
      'GET /api/admin/v1/boxes/anna-schule': aBoxDetail(),
    },
  })
  expect(ran.exit).toBe(0)
  expect(ran.stderr.match(/host-1 is offline: waiting until it reconnects/g)).toHaveLength(1)
})

test('scan waits for all agents, then shows drift per component, unreachable boxes and the next command', async () => {
  const synced = aBoxRow({
    slug: 'kita-nord',
    severity: 'none',
    components: { synapse: 'none' },
    installed: { ...box.installed, synapse: '1.163.2' },
  })
  const ran = await tenantry(['boxes', 'scan'], {
    answers: {
      'POST /api/admin/v1/boxes/scan': {
        commands: [
          { slug: 'anna-schule', commandId: 'cmd_1' },
          { slug: 'kita-nord', commandId: 'cmd_2' },
        ],
        unreachable: [{ slug: 'hort-sued', host: 'host-2' }],
      },
      [command]: aCommand(),
      'GET /api/admin/v1/commands/cmd_2': aCommand({ id: 'cmd_2' }),
      'GET /api/admin/v1/manifest': {
        revision: 4,
        manifest: aManifest({ synapse: '1.163.2' }),
        appliedAt: at('01:00:00'),
        appliedBy: 'anna',
      },
      'GET /api/admin/v1/boxes': [
        { boxes: [box], nextCursor: 'next' },
        { boxes: [synced, aBoxRow({ slug: 'hort-sued', severity: 'unknown' }), aBoxRow({ slug: 'not-asked' })], nextCursor: null },
      ],
    },
  })
  expect(ran.exit).toBe(0)
  expect(ran.stdout).toMatch(/anna-schule +minor +1\.157\.1 → 1\.163\.2 \(minor\)/)
  expect(ran.stdout).toMatch(/kita-nord +in sync +1\.163\.2/)
  expect(ran.stdout).toContain('host-2 is offline: 1 box skipped (hort-sued). fix: `tenantry hosts show host-2`')
  expect(ran.stdout).not.toContain('not-asked')
  expect(ran.stdout).toContain('1 of 3 boxes drifted, 1 unknown. Preview a rollout: tenantry rollouts plan')
})

describe('a scan while all hosts are offline', () => {
  const away = ['a', 'b', 'c', 'd', 'e', 'f'].map((slug) => ({ slug, host: 'host-1' }))
  const unreachable = [...away, { slug: 'g', host: 'host-2' }]
  const answers = {
    'POST /api/admin/v1/boxes/scan': { commands: [], unreachable },
    'GET /api/admin/v1/manifest': { revision: 4, manifest: aManifest({}), appliedAt: at('01:00:00'), appliedBy: 'anna' },
    'GET /api/admin/v1/boxes': { boxes: unreachable.map(({ slug }) => aBoxRow({ slug, severity: 'unknown' })), nextCursor: null },
  }

  test.each([[[]], [['--no-wait']]])('shows each host, its skipped boxes and the fix, and exits 6: %j', async (more) => {
    const ran = await tenantry(['boxes', 'scan', ...more], { answers })
    expect([ran.exit, ran.stderr]).toEqual([6, ''])
    expect(ran.stdout).toContain(`No box is reachable; the versions are from earlier reports.
host-1 is offline: 6 boxes skipped (a, b, c, d, e and 1 more). fix: \`tenantry hosts show host-1\`, and on the host \`tenantry-agent doctor\`
host-2 is offline: 1 box skipped (g). fix: \`tenantry hosts show host-2\`, and on the host \`tenantry-agent doctor\`
When they are online again: tenantry boxes scan
`)
  })

  test('--json has all unreachable boxes', async () => {
    const ran = await tenantry(['boxes', 'scan', '--json'], { answers })
    expect([ran.exit, JSON.parse(ran.stdout)]).toMatchObject([6, { unreachable }])
  })

  test('an empty fleet exits 0', async () => {
    const none = {
      'POST /api/admin/v1/boxes/scan': { commands: [], unreachable: [] },
      'GET /api/admin/v1/boxes': { boxes: [], nextCursor: null },
    }
    expect(await tenantry(['boxes', 'scan'], { answers: { ...answers, ...none } })).toMatchObject({ exit: 0, stderr: '' })
  })
})

test('adopt --again registers the box on its host and returns it', async () => {
  const answers: Answers = {
    'POST /api/admin/v1/boxes/anna-schule/adopt-again': { commandId: 'cmd_1' },
    'GET /api/admin/v1/boxes/anna-schule': box,
    [command]: [aCommand({ revision: 3 })],
  }
  const ran = await tenantry(['boxes', 'adopt', 'anna-schule', '--again', '--json'], { answers })
  expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, box])
})
