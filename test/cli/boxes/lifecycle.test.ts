import { describe, expect, test } from 'vitest'
import { logLine } from '../../../src/cli/boxes/logs.ts'
import { remove } from '../../../src/cli/boxes/remove.ts'
import { paintWith } from '../../../src/cli/kit/index.ts'
import type { BoxRemoval } from '../../../src/core/boxes/index.ts'
import { type Answers, problemAnswer, tenantry } from '../../support/command-line.ts'
import { aBoxDetail, aCommand, aMove, at } from '../../support/records.ts'

const slug = 'anna-schule'
const base = `/api/admin/v1/boxes/${slug}`
const command = 'GET /api/admin/v1/commands/cmd_1'
const aRemoval = (given: Partial<BoxRemoval> = {}): BoxRemoval => ({
  removalId: 'rmv_1',
  state: 'handing_over',
  snapshotId: null,
  remarks: [],
  reason: 'left',
  by: 'admin:anna',
  commandId: 'cmd_1',
  error: null,
  startedAt: at('01:00:00'),
  changedAt: at('01:00:00'),
  keepUntil: null,
  finishedAt: null,
  ...given,
})
const plan = { from: 'host-1', to: 'host-2', ports: { public: 1, platform: 2, probe: 3 }, snapshot: null, losesMs: 0 }
const moved = aMove({ state: 'confirming', commandId: null, keepUntil: at('03:00:00') })

describe('move', () => {
  const answers: Answers = {
    [`POST ${base}/move/plan`]: plan,
    [`POST ${base}/move`]: aMove(),
    [command]: aCommand(),
    'GET /api/admin/v1/commands/cmd_2': aCommand({ id: 'cmd_2' }),
    [`GET ${base}`]: [aBoxDetail({ move: aMove({ state: 'taking_over', commandId: 'cmd_2' }) }), aBoxDetail({ move: moved })],
  }
  const line = ['boxes', 'move', slug, '--to', 'host-2', '--reason', 'full']

  test('follows the commands of a move, and shows the next command', async () => {
    const ran = await tenantry([...line, '--yes'], { answers })
    expect(ran.exit).toBe(0)
    expect(ran.stderr).toContain('No data loss')
    expect(ran.stderr).toContain(`${slug}: taking over`)
    expect(ran.stdout).toContain(`tenantry boxes move ${slug} --confirm`)
  })

  test('--json prints the final move', async () => {
    const ran = await tenantry([...line, '--yes', '--json'], { answers })
    expect(JSON.parse(ran.stdout)).toEqual(moved)
  })

  test('asks for confirmation: without a terminal and --yes it is a usage error', async () => {
    const ran = await tenantry(line, { answers })
    expect([ran.exit, ran.asked.map(({ path }) => path)]).toEqual([2, [`${base}/move/plan`]])
  })

  test('a reverted move exits 1 with its error', async () => {
    const back = aMove({ state: 'given_back', commandId: null, error: { code: 'DISK_FULL', message: 'no space\u001b[2J' } })
    const ran = await tenantry([...line, '--yes'], { answers: { ...answers, [`GET ${base}`]: aBoxDetail({ move: back }) } })
    expect(ran.exit).toBe(1)
    expect(ran.stdout).toContain(`${slug} runs on host-1 as before`)
    expect(ran.stdout).not.toContain('\u001b[2J')
  })

  test('a move whose box could not be unfenced exits 1 with the next command', async () => {
    const error = { code: 'INTERNAL', message: `the box is still fenced; tenantry-agent box unfence ${slug}` }
    const shut = aBoxDetail({ move: { ...moved, error } })
    const ran = await tenantry([...line, '--yes'], { answers: { ...answers, [`GET ${base}`]: shut } })
    expect([ran.exit, ran.stdout]).toEqual([1, expect.stringContaining(`tenantry-agent box unfence ${slug}`)])
  })

  test('a stalled move is not awaited forever', async () => {
    const hangs = aMove({ state: 'taking_over', error: { code: 'HOST_OFFLINE', message: 'silent' } })
    const expired = aCommand({ status: 'expired', error: { code: 'HOST_OFFLINE', message: 'silent' } })
    const ran = await tenantry([...line, '--yes'], {
      answers: { ...answers, [command]: expired, [`GET ${base}`]: aBoxDetail({ move: hangs }) },
    })
    expect([ran.exit, ran.stdout]).toEqual([1, expect.stringContaining('taking over')])
  })

  test('from a dead host shows the data loss, and sends the typed name', async () => {
    const snapshot = { snapshotId: 'aaaaaaaa', takenAt: at('00:00:00'), reopens: [] }
    const dead = { ...answers, [`POST ${base}/move/plan`]: { ...plan, snapshot, losesMs: 7_200_000 } }
    const ran = await tenantry([...line, '--old-host-is-dead', 'host-1', '--yes', '--no-wait'], { answers: dead })
    expect(ran.stderr).toContain('DATA LOSS: everything of the last 2 h 00 min')
    expect(ran.stderr).toMatch(/is rebuilt from the snapshot of \d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC/)
    expect(ran.stderr).not.toContain('DAMAGED')
    const hole = { emergency: 'cve-1', cveId: 'CVE-2026-1', component: 'synapse', fixed: '1.163.4', version: '1.157.1' }
    const broken = {
      ...dead,
      [`POST ${base}/move/plan`]: { ...plan, snapshot: { ...snapshot, damaged: true, reopens: [hole] }, losesMs: 7_200_000 },
    }
    const warned = await tenantry([...line, '--old-host-is-dead', 'host-1', '--yes', '--no-wait'], { answers: broken })
    expect(warned.stderr).toMatch(/Snapshot aaaaaaaa is DAMAGED, and no better one exists/)
    expect(warned.stderr).toContain('reintroduces CVE-2026-1 (synapse 1.157.1; fixed in 1.163.4 by emergency cve-1)')
    expect(ran.asked[1]?.body).toEqual({ to: 'host-2', reason: 'full', oldHostIsDead: 'host-1' })
  })

  test('--confirm and --back have their own calls', async () => {
    const done = aMove({ state: 'done', commandId: null })
    const confirm = await tenantry(['boxes', 'move', slug, '--confirm', '--yes'], { answers: { [`POST ${base}/move/confirm`]: done } })
    expect([confirm.exit, confirm.stdout]).toEqual([0, expect.stringContaining('done')])
    const back = await tenantry(['boxes', 'move', slug, '--back', '--new-host-is-dead', 'host-2', '--yes', '--no-wait'], {
      answers: { [`POST ${base}/move/back`]: aMove({ state: 'taking_back' }) },
    })
    expect([back.exit, back.asked[0]?.body]).toEqual([0, { newHostIsDead: 'host-2' }])
    const stopped = await tenantry(['boxes', 'move', slug, '--back', '--stopped-on-new-host', '--yes', '--no-wait'], {
      answers: { [`POST ${base}/move/back`]: aMove({ state: 'taking_back' }) },
    })
    expect([stopped.exit, stopped.asked[0]?.body]).toEqual([0, { stoppedOnNewHost: true }])
  })

  test('a stranded move shows how to go back; after a lost state folder only once the new host runs nothing of the box', async () => {
    const show = async (mayRunOnNewHost: boolean) => {
      const move = aMove({ state: 'stranded', error: { code: 'HOST_REVOKED', message: 'lost' }, mayRunOnNewHost })
      return (await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: aBoxDetail({ move }) } })).stdout
    }
    expect(await show(false)).toMatch(/--back$/m)
    expect(await show(true)).toMatch(/host-2 may still run it.*docker ps.*--stopped-on-new-host/s)
  })
})

test.each([
  ['offline', 'drift +unknown: host host-1 is offline'],
  ['stale', 'drift +unknown: last report is stale'],
  ['never', 'drift +unknown: no report yet'],
  ['stopped', 'drift +unknown: no host runs it'],
  ['fresh', 'drift +minor\n'],
] as const)('a box whose report is %s has the reason for its unknown drift in show', async (freshness, said) => {
  const box = aBoxDetail({ freshness, severity: freshness === 'fresh' ? 'minor' : 'unknown', host: 'host-1' })
  const ran = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: box } })
  expect(ran.stdout).toMatch(new RegExp(said))
})

test('a removed box shows that it does not run, and no component in sync', async () => {
  const components = [{ component: 'synapse', installed: '1.157.1', target: '1.157.1', severity: 'none', explanation: 'in sync' }] as const
  const driftReport = { severity: 'none', freshness: 'fresh', manifestRevision: 1 } as const
  const gone = { status: 'removed', live: false, freshness: 'stopped', severity: 'unknown' } as const
  const box = aBoxDetail({ ...gone, driftReport: { ...driftReport, components: [...components] }, removal: aRemoval({ state: 'kept' }) })
  const { stdout } = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: box } })
  expect(stdout).toMatch(/drift +unknown: box is removed/)
  expect(stdout).toMatch(/Last versions: .*synapse 1\.157\.1/)
  expect(stdout).not.toContain('in sync')
})

test('a box whose set-up failed shows the next command', async () => {
  const setUp = { commandId: 'cmd_1', attempt: 1, error: { code: 'NOT_FOUND', message: 'the folder /srv/x cannot be read' } }
  const box = aBoxDetail({ status: 'failed', live: false, setUp })
  const ran = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: box } })
  expect(ran.stdout).toContain(`repeat the command, or clean up: tenantry boxes remove ${slug} --reason`)
})

test('logs of an unknown service are refused', async () => {
  const ran = await tenantry(['boxes', 'logs', slug, '--service', 'synapse,nginx'], {})
  expect([ran.exit, ran.asked]).toEqual([2, []])
  expect(ran.stderr).toContain('unknown service nginx. fix: edge, synapse, postgres or minio')
})

describe('remove', () => {
  const kept = aRemoval({ state: 'kept', commandId: null, keepUntil: at('05:00:00') })
  const answers: Answers = {
    [`POST ${base}/remove`]: aRemoval(),
    [command]: aCommand(),
    [`GET ${base}`]: aBoxDetail({ removal: kept }),
  }

  test('needs the slug, typed or as an option', async () => {
    const ran = await tenantry(['boxes', 'remove', slug, '--reason', 'left'], { answers })
    expect([ran.exit, ran.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
    expect(ran.stderr).toMatch(new RegExp(`^error: "Type ${slug} to remove it" required, but stdin is not a terminal.*--confirm ${slug}`))
  })

  test('shows the last snapshot, which outlives the box', async () => {
    const removal = { ...kept, snapshotId: `5d01beef${'0'.repeat(56)}` }
    const ran = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: aBoxDetail({ removal, live: false }) } })
    expect(ran.stdout).toMatch(/last snapshot +5d01beef\n/)
  })

  test('shows until when it can be restored', async () => {
    const ran = await tenantry(['boxes', 'remove', slug, '--reason', 'left', '--confirm', slug], { answers })
    expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { confirm: slug, reason: 'left', now: false }])
    expect(ran.stdout).toContain(`tenantry boxes remove ${slug} --undo`)
  })

  test('a box that is not found is erased', async () => {
    const gone = problemAnswer(404, { code: 'NOT_FOUND', message: 'no box', retryable: false })
    const ran = await tenantry(['boxes', 'remove', slug, '--reason', 'left', '--now', '--yes', '--json'], {
      answers: { ...answers, [`GET ${base}`]: gone },
    })
    expect([ran.exit, JSON.parse(ran.stdout).state]).toEqual([0, 'erased'])
  })

  test('an erased box has its remarks in the audit log', async () => {
    const gone = problemAnswer(404, { code: 'NOT_FOUND', message: 'no box', retryable: false })
    const remarks = ['No last snapshot was taken: postgres of it does not run', 'left: container irc-1']
    const entries = [{ action: 'box.removal.erased', data: { removalId: 'rmv_1', remarks } }]
    const ran = await tenantry(['boxes', 'remove', slug, '--reason', 'left', '--now', '--yes'], {
      answers: { ...answers, [`GET ${base}`]: gone, 'GET /api/admin/v1/audit': { entries, nextCursor: null } },
    })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringMatching(/remarks +No last snapshot was taken: .*left: container irc-1/s)])
  })

  test('a gone host is typed, and its box ends with exit code 0 although data may be left there', async () => {
    const error = { code: 'HOST_OFFLINE', message: 'host host-1 is gone; data of it may still be on it' }
    const ended = aRemoval({ state: 'erased', commandId: null, error })
    const ran = await tenantry(['boxes', 'remove', slug, '--host-is-dead', 'host-1', '--reason', 'it burned', '--confirm', slug], {
      answers: { [`POST ${base}/remove`]: ended },
    })
    expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { confirm: slug, reason: 'it burned', now: false, hostIsDead: 'host-1' }])
    expect(ran.stdout).toContain('may still be on it')
  })

  test('--undo restores the box', async () => {
    const undone = aRemoval({ state: 'undone', commandId: null })
    const ran = await tenantry(['boxes', 'remove', slug, '--undo', '--yes'], { answers: { [`POST ${base}/remove/undo`]: undone } })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining(`${slug} runs again`)])
  })
})

describe('maintenance', () => {
  const answers: Answers = {
    [`POST ${base}/maintenance`]: { commandId: 'cmd_1' },
    [command]: aCommand(),
    [`GET ${base}`]: aBoxDetail({
      fenced: true,
      health: { state: 'maintenance', failing: [], why: 'closed by admin:anna', since: null },
      maintenance: { by: 'admin:anna', reason: 'moving a disk', since: at('01:00:00') },
    }),
  }

  test('on needs a reason, off does not', async () => {
    expect((await tenantry(['boxes', 'maintenance', 'on', slug], { answers })).exit).toBe(2)
    expect((await tenantry(['boxes', 'maintenance', 'sometimes', slug], { answers })).exit).toBe(2)
    const off = await tenantry(['boxes', 'maintenance', 'off', slug], { answers })
    expect([off.exit, off.asked[0]?.body]).toEqual([0, { on: false, reason: 'maintenance finished' }])
  })

  test('shows the corrected command for a swapped order', async () => {
    const { stderr } = await tenantry(['boxes', 'maintenance', slug, 'on'], { answers })
    expect(stderr).toContain(`wrong order. fix: \`tenantry boxes maintenance on ${slug}\``)
  })

  test('the next command of a refusal names the box', async () => {
    const refused = problemAnswer(409, { code: 'CONFLICT', message: 'it is not in maintenance', retryable: false })
    const { stderr } = await tenantry(['boxes', 'maintenance', 'off', slug], { answers: { [`POST ${base}/maintenance`]: refused } })
    expect(stderr).toContain(`next:  tenantry boxes show ${slug}\n`)
  })

  test('shows the actor and start of maintenance', async () => {
    const ran = await tenantry(['boxes', 'maintenance', 'on', slug, '--reason', 'moving a disk'], { answers })
    expect(ran.stdout).toMatch(/state +maintenance/)
    expect(ran.stdout).toContain('In maintenance by admin:anna')
  })
})

describe('logs', () => {
  const lineAt = (time: string, text: string, service = 'synapse') => ({ at: `2026-01-05T${time}Z`, service, text })
  const told = (...lines: unknown[]) => aCommand({ kind: 'tenant-box.logs', result: { lines } })
  const ask = `POST ${base}/logs`

  test('sends the filters and prints line by line', async () => {
    const ran = await tenantry(['boxes', 'logs', slug, '--service', 'synapse,edge', '--lines', '5', '--since', '10m'], {
      answers: { [ask]: { commandId: 'cmd_1' }, [command]: told(lineAt('01:00:00.123456789', 'hello')) },
    })
    expect(ran.exit).toBe(0)
    expect(ran.asked[0]?.body).toEqual({ services: ['synapse', 'edge'], lines: 5, since: expect.stringMatching(/Z$/) })
    expect(ran.stdout).toContain('synapse  hello')
    expect((await tenantry(['boxes', 'logs', slug, '--since', 'yesterday'], { answers: {} })).exit).toBe(2)
  })

  test('control characters of a line never reach the terminal', () => {
    const line = logLine(
      { at: '2026-01-05T01:00:00Z', service: 'edge\u001b', text: 'a\u001b]0;owned\u0007\u009b2Jb' },
      { paint: paintWith(false) },
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for them
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
  })

  test('--grep leaves the other lines out', async () => {
    const lines = told(lineAt('01:00:00', 'An Error'), lineAt('01:00:01', 'fine'))
    const ran = await tenantry(['boxes', 'logs', slug, '--grep', 'error'], { answers: { [ask]: { commandId: 'cmd_1' }, [command]: lines } })
    expect([ran.stdout.includes('An Error'), ran.stdout.includes('fine')]).toEqual([true, false])
  })

  test('--follow prints lines as they come, says why they end, and continues after the last one until Ctrl-C', async () => {
    const stop = new AbortController()
    let opened = 0
    const stream = (...messages: object[]) =>
      new Response(messages.map((data, at) => `id: position-${at}\nevent: lines\ndata: ${JSON.stringify(data)}\n\n`).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      })
    const lines = (...some: object[]) => ({ lines: some, leftOut: false, end: null })
    const away = { lines: [], leftOut: false, end: { code: 'HOST_OFFLINE', message: 'Host host-1 has sent nothing for 13 s.' } }
    const clock = {
      ...{ now: () => new Date(at('02:00:00')), monotonicMs: () => 0 },
      sleep: async () => {
        opened += 1
        if (opened === 2) stop.abort()
      },
    }
    const ran = await tenantry(['boxes', 'logs', slug, '--follow', '--service', 'synapse,edge', '--tail', '3', '--grep', 'o'], {
      answers: {
        [`GET ${base}/logs/follow`]: [
          stream(lines(lineAt('01:00:10', 'one'), lineAt('01:00:11', 'nix')), away),
          stream(lines(lineAt('01:00:12', 'two'))),
        ],
      },
      clock,
      signal: stop.signal,
    })
    expect(ran.exit).toBe(0)
    const shown = ran.stdout.split('\n').filter(Boolean)
    expect(shown.map((line) => line.split(' ').at(-1))).toEqual(['one', 'two'])
    expect(ran.stderr).toContain('Host host-1 has sent nothing for 13 s.')
    expect(ran.asked.map(({ search, headers }) => [search, headers.get('last-event-id')])).toEqual([
      ['?services=synapse%2Cedge&lines=3', null],
      ['?services=synapse%2Cedge&lines=3', 'position-1'],
    ])
  })
})

describe('services', () => {
  test('are shown with state, uptime, CPU and memory', async () => {
    const one = { service: 'synapse', image: 'synapse:1.2.3', state: 'running', exitCode: null, startedAt: at('00:00:00'), restarts: 2 }
    const stopped = {
      ...one,
      service: 'minio',
      state: 'exited',
      exitCode: 137,
      cpuPercent: null,
      memoryBytes: null,
      memoryLimitBytes: null,
    }
    const result = { at: at('02:00:00'), services: [{ ...one, cpuPercent: 12.34, memoryBytes: 410e6, memoryLimitBytes: 8e9 }, stopped] }
    const answers = {
      [`POST ${base}/services`]: { commandId: 'cmd_1' },
      [command]: aCommand({ kind: 'tenant-box.services', result }),
    }
    const ran = await tenantry(['boxes', 'services', slug], { answers })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringMatching(/synapse +running +2 h.* 2 +12\.3 +410 MB +synapse:1\.2\.3/)])
    expect(ran.stdout).toMatch(/minio +exited \(137\)/)
    expect(JSON.parse((await tenantry(['boxes', 'services', slug, '--json'], { answers })).stdout)).toEqual(result)
  })
})

test('registering a stack needs its location', async () => {
  const ran = await tenantry(['boxes', 'adopt', slug, '--host', 'host-1'], { answers: {} })
  expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('missing: --folder, --project, --name, --plan, --domain')])
})

describe('lists and views', () => {
  test('mark overdue fences, moves, maintenance and removals', async () => {
    const marked = aBoxDetail({
      fenced: true,
      fenceOverdue: true,
      fence: { holder: 'ro_1.anna.1.update', since: at('00:00:00'), overdueSince: at('01:00:00') },
      moving: { state: 'stranded', to: 'host-2' },
      move: aMove({ state: 'stranded' }),
      openCommands: [
        {
          commandId: 'ro_1.anna.1.update',
          kind: 'tenant-box.update',
          status: 'expired',
          host: 'host-1',
          since: at('00:00:00'),
          deadlineAt: at('01:00:00'),
        },
      ],
    })
    const ran = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: marked } })
    for (const said of ['overdue', `boxes release ${slug}`, 'has not reported its end', 'does not run', `boxes move ${slug} --back`])
      expect(ran.stdout).toContain(said)
    const list = await tenantry(['boxes', 'list'], {
      answers: { 'GET /api/admin/v1/boxes': { boxes: [marked], nextCursor: null } },
      columns: 200,
    })
    expect(list.stdout).toMatch(/moving.*fence overdue, not running, to host-2/)
  })

  test.each([
    ['ro_1.anna.1.update', 'the update of rollout ro_1'],
    ['ro_1.anna.2.undo-images', 'the undo images of rollout ro_1'],
    ['rmv_1.hand_over.1', 'the hand over of removal rmv_1'],
    ['mov_1.take_over.2', 'the take over of move mov_1'],
    ['maintenance', 'maintenance'],
  ])('a fence of %s is shown as that of %s', async (holder, said) => {
    const fenced = aBoxDetail({ fenced: true, fence: { holder, since: at('00:00:00'), overdueSince: null } })
    const ran = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: fenced } })
    expect(ran.stdout).toContain(`Fenced by ${said} `)
    // A quarantined box shows no further events.
    expect(ran.stdout.includes(`Details: tenantry rollouts show ro_1 --box ${slug}\n`)).toBe(said.includes('rollout'))
  })

  test('each drifted component is explained in full on a narrow terminal', async () => {
    const [why, versions] = ['a minor version behind the manifest', { installed: '1.157.1', target: '1.163.2' }]
    const components = [
      { component: 'postgres', ...versions, severity: 'none', explanation: 'the same' },
      { component: 'synapse', ...versions, severity: 'minor', explanation: why },
    ]
    const drifted = aBoxDetail({ driftReport: { severity: 'minor', components } as never })
    const { stdout } = await tenantry(['boxes', 'show', slug], { answers: { [`GET ${base}`]: drifted }, columns: 60 })
    expect(stdout).toContain(`\nsynapse: ${why}\n`)
    expect(stdout).not.toContain('the same')
  })

  test('release shows the next commands', async () => {
    const answers = {
      [`POST ${base}/release`]: { released: 'rollout:ro_1', fenced: true, next: ['tenantry boxes check anna-schule: is it healthy?'] },
    }
    const ran = await tenantry(['boxes', 'release', slug, '--reason', 'its host burned', '--confirm', slug], { answers })
    expect([ran.exit, ran.stdout]).toEqual([0, expect.stringContaining('tenantry boxes check anna-schule')])
  })
})

test('reconcile shows what is re-synced, and outdated passwords when the snapshot is known', async () => {
  const reconciled = { slug, users: 12, spaces: 3, takenAt: at('01:00:00'), oldPasswords: 2 }
  const answers: Answers = { [`POST ${base}/reconcile`]: reconciled }
  const ran = await tenantry(['boxes', 'reconcile', slug, '--snapshot', '3f2a91c0'], { answers })
  expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { snapshot: '3f2a91c0' }])
  expect(ran.stdout).toContain(`2 users with an outdated password: tenantry users list ${slug} --old-password`)
  const unknown = { ...reconciled, takenAt: null, oldPasswords: null }
  expect(ran.stdout.split('\n').slice(-3)).toEqual([
    'Open jobs: tenantry jobs list',
    `Recreated accounts: tenantry users list ${slug} --without-password`,
    '',
  ])
  const without = await tenantry(['boxes', 'reconcile', slug], { answers: { [`POST ${base}/reconcile`]: unknown } })
  expect([without.asked[0]?.body, without.stdout]).toEqual([{}, expect.stringContaining('pass --snapshot <id>')])
  const json = await tenantry(['boxes', 'reconcile', slug, '--json'], { answers })
  expect(JSON.parse(json.stdout)).toEqual(reconciled)
})

test.each([
  ['anna-schule ', true],
  ['anna', false],
  ['', false],
])('a box is removed for a person only who types its name: %j', async (typed, removes) => {
  const removed: unknown[] = []
  const removeBox = async ({ body }: { body: unknown }) => removed.push(body)
  const context = { yes: false, ask: { text: async () => typed }, api: { boxes: { removeBox, showBox: async () => aBoxDetail() } } }
  const asked = remove.run(context as never, { slug: 'anna-schule', reason: 'it left', now: false, undo: false, wait: false } as never)
  if (removes) await asked
  else
    await expect(asked).rejects.toMatchObject({
      code: 'CANCELLED',
      message: 'confirmation does not match anna-schule; nothing was changed',
    })
  expect(removed).toEqual(removes ? [{ confirm: 'anna-schule', reason: 'it left', now: false }] : [])
})
