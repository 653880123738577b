import { describe, expect, test } from 'vitest'
import { paintWith, type Style } from '../../../src/cli/kit/index.ts'
import { restore } from '../../../src/cli/snapshots/restore.ts'
import { problem } from '../../../src/core/kit/index.ts'
import type { Snapshot } from '../../../src/core/snapshots/index.ts'
import { aProbe } from '../../support/boxes.ts'
import { type Answers, problemAnswer, tenantry } from '../../support/command-line.ts'
import { aBoxDetail, aBoxRow, aCommand, aMove, at } from '../../support/records.ts'

const id = (start: string) => start.padEnd(64, '0')
const installed = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const aSnapshot = (given: Partial<Snapshot> = {}): Snapshot => ({
  snapshotId: id('3f2a91c0'),
  slug: 'anna-schule',
  boxId: 'box_1',
  tier: 'daily',
  takenAt: at('01:30:00'),
  commandId: 'cmd_9',
  snapshotSha256: id('ab'),
  addedBytes: 4_100_000,
  files: 321,
  durationMs: 12_000,
  installed,
  status: 'present',
  keptBecause: 'the newest of the box',
  lastDrill: {
    at: at('01:45:00'),
    ok: true,
    durationMs: 70_000,
    restoreMs: 45_000,
    error: null,
    media: { files: 0, sampled: 0, hashed: 0 },
  },
  lastProof: { at: at('01:45:00'), durationMs: 45_000 },
  ...given,
})
const listed = 'GET /api/admin/v1/snapshots'
const command = 'GET /api/admin/v1/commands/cmd_1'
const page = (...snapshots: Snapshot[]) => ({ snapshots, nextCursor: null })

describe('list', () => {
  test('shows snapshots with the reason for retention', async () => {
    const failed = {
      at: at('01:59:00'),
      ok: false,
      durationMs: null,
      restoreMs: null,
      media: null,
      error: { code: 'DISK_FULL', message: 'full' },
    }
    const gone = aSnapshot({ snapshotId: id('bb'), status: 'missing', keptBecause: null, lastDrill: failed, addedBytes: null })
    const ran = await tenantry(['snapshots', 'list'], { answers: { [listed]: page(aSnapshot(), gone) } })
    expect(ran.exit).toBe(0)
    const [head, first, second] = ran.stdout.split('\n')
    expect(head).toMatch(/SNAPSHOT +BOX +KIND +TAKEN +STATUS +LAST DRILL +RETENTION REASON +ADDED +DURATION/)
    expect(first).toMatch(/^3f2a91c0 +anna-schule +daily +30 min ago +present +15 min ago, in 45 s +the newest of the box +4\.1 MB +12 s/)
    expect(second).toMatch(/missing +failed 1 min ago +- +-/)
  })

  test('shows proofs by restores and moves, and hides earlier failed drills', async () => {
    const failed = { at: at('01:40:00'), ok: false, durationMs: null, restoreMs: null, media: null, error: null }
    const lastProof = { at: at('01:50:00'), durationMs: null }
    const answers = { [listed]: page(aSnapshot({ lastDrill: null, lastProof }), aSnapshot({ lastDrill: failed, lastProof })) }
    const { stdout } = await tenantry(['snapshots', 'list'], { answers })
    for (const line of stdout.split('\n').slice(1, 3)) expect(line).toMatch(/present +10 min ago +the newest/)
  })

  test('sends the filters, and prints the API’s result with --json', async () => {
    const line = ['snapshots', 'list', '--slug', 'anna-schule', '--kind', 'daily', '--status', 'present', '--json']
    const ran = await tenantry(line, { answers: { [listed]: page(aSnapshot()) } })
    expect(ran.asked[0]?.search).toBe('?slug=anna-schule&status=present&tier=daily')
    expect(JSON.parse(ran.stdout)).toEqual(page(aSnapshot()))
  })

  test.each([80, 120])('keeps within %i columns, without control characters', async (columns) => {
    const long = aSnapshot({
      slug: 'a-school-with-a-long-slug-of-40-characters',
      keptBecause: 'needed by\u001b[31m rollout ro_0123456789abcdefghjk',
    })
    const ran = await tenantry(['snapshots', 'list'], { answers: { [listed]: page(aSnapshot(), long) }, columns, env: { NO_COLOR: '1' } })
    for (const line of ran.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
    expect(ran.stdout).not.toContain('\u001b[31m rollout')
  })

  test('shows the next command for an empty list', async () => {
    const ran = await tenantry(['snapshots', 'list'], { answers: { [listed]: page() } })
    expect(ran.stdout).toContain('tenantry snapshots take')
  })
})

describe('take', () => {
  const taking: Answers = { 'POST /api/admin/v1/boxes/anna-schule/snapshots': { commandId: 'cmd_1' } }

  test('starts a snapshot and shows where its result is', async () => {
    const ran = await tenantry(['snapshots', 'take', 'anna-schule'], { answers: taking })
    expect([ran.exit, ran.stdout]).toEqual([0, '1 snapshot started. Result: tenantry snapshots list --slug anna-schule\n'])
  })

  test('--wait follows the agent', async () => {
    const running = aCommand({ status: 'running', revision: 2, progress: [{ step: 'dump', percent: 40, at: at('02:00:02') }] })
    const ran = await tenantry(['snapshots', 'take', 'anna-schule', '--wait', '--json'], {
      answers: { ...taking, [command]: [running, aCommand({ revision: 3 })] },
    })
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([
      0,
      { asked: [{ slug: 'anna-schule', commandId: 'cmd_1' }], taken: ['anna-schule'], failed: [] },
    ])
    expect(ran.stderr).toContain('anna-schule: dump: 40 %')
  })

  test('a refused or failed single box is the command’s own error', async () => {
    const held = problemAnswer(409, { code: 'BOX_HELD', message: 'held by a rollout', retryable: false })
    const refused = await tenantry(['snapshots', 'take', 'anna-schule'], {
      answers: { 'POST /api/admin/v1/boxes/anna-schule/snapshots': held },
    })
    expect([refused.exit, refused.stderr]).toEqual([5, expect.stringContaining('held by a rollout')])
    const failed = await tenantry(['snapshots', 'take', 'anna-schule', '--wait'], {
      answers: { ...taking, [command]: aCommand({ status: 'failed', error: { code: 'DISK_FULL', message: 'no space left' } }) },
    })
    expect([failed.exit, failed.stderr]).toEqual([6, expect.stringContaining('no space left')])
  })

  test('with several boxes the others continue, and it exits 1', async () => {
    const held = problemAnswer(409, { code: 'BOX_HELD', message: 'held by a rollout', retryable: false })
    const ran = await tenantry(['snapshots', 'take', 'kita-nord', 'anna-schule', '--wait'], {
      answers: { ...taking, 'POST /api/admin/v1/boxes/kita-nord/snapshots': held, [command]: aCommand() },
    })
    expect([ran.exit, ran.stdout]).toEqual([
      1,
      'kita-nord: held by a rollout\n\n1 snapshot taken: tenantry snapshots list --slug anna-schule\n',
    ])
  })

  test('--all takes every managed box, after confirmation', async () => {
    const boxes = [aBoxRow(), aBoxRow({ slug: 'watched', managed: false }), aBoxRow({ slug: 'new', live: false })]
    const answers = { ...taking, 'GET /api/admin/v1/boxes': { boxes, nextCursor: null } }
    const unasked = await tenantry(['snapshots', 'take', '--all'], { answers })
    expect([unasked.exit, unasked.stderr]).toEqual([2, expect.stringContaining('--yes')])
    const ran = await tenantry(['snapshots', 'take', '--all', '--yes', '--json'], { answers })
    expect([ran.exit, JSON.parse(ran.stdout).asked]).toEqual([0, [{ slug: 'anna-schule', commandId: 'cmd_1' }]])
  })

  test.each([[[]], [['anna-schule', '--all']]])('%j is a usage error', async (more) => {
    expect((await tenantry(['snapshots', 'take', ...more])).exit).toBe(2)
  })
})

describe('restore', () => {
  const line = ['snapshots', 'restore', 'anna-schule', '--snapshot', '3f2a', '--reason', 'the import went wrong']
  const restoring: Answers = {
    [listed]: page(aSnapshot()),
    'POST /api/admin/v1/boxes/anna-schule/restore': { commandId: 'cmd_1', snapshotId: id('3f2a91c0'), reopens: [] },
  }
  const result = { outcome: 'restored', snapshotId: id('3f2a'), preRestore: { snapshotId: id('77aa') }, fencedMs: 80_000, error: null }
  const ended = (change: object = {}) => aCommand({ kind: 'tenant-box.restore', result: { ...result, probes: [aProbe()], ...change } })

  test('without a terminal and --yes only the snapshot is read, and the data loss is shown', async () => {
    const ran = await tenantry(line, { answers: restoring })
    expect([ran.exit, ran.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
    expect(ran.stderr).toContain('Restores anna-schule from 3f2a91c0 (daily), taken 2026-01-05 01:30:00 UTC (30 min ago)')
    expect(ran.stderr).toContain('DATA LOSS: everything of the last 30 min')
    expect(ran.stderr).toContain('in 45 s')
    expect(ran.stderr).toContain('pass --yes')
  })

  test('a prefix of an id is enough, and the full id is sent', async () => {
    const ran = await tenantry([...line, '--yes', '--json'], { answers: restoring })
    expect(ran.asked[0]?.search).toBe('?slug=anna-schule&id=3f2a&limit=2')
    expect(ran.asked[1]?.body).toEqual({ snapshotId: id('3f2a91c0'), reason: 'the import went wrong' })
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, { commandId: 'cmd_1', snapshotId: id('3f2a91c0'), reopens: [] }])
  })

  test('an unknown box is not found, instead of having no snapshots', async () => {
    const noBox = problemAnswer(404, { code: 'NOT_FOUND', message: 'there is no box anna-schule', retryable: false })
    const answers = { [listed]: page(), 'GET /api/admin/v1/boxes/anna-schule': noBox }
    for (const typed of [line, ['snapshots', 'list', '--slug', 'anna-schule']]) {
      const ran = await tenantry([...typed, '--yes'], { answers })
      expect([ran.exit, ran.stdout, ran.stderr]).toEqual([3, '', expect.stringContaining('there is no box anna-schule [NOT_FOUND]')])
    }
    const filtered = ['snapshots', 'list', '--slug', 'anna-schule', '--kind', 'final'] // of one that was erased there may be others
    expect((await tenantry(filtered, { answers })).exit).toBe(0)
  })

  test('an ambiguous prefix is a usage error; an unknown one is not found', async () => {
    const several = await tenantry([...line, '--yes'], { answers: { [listed]: page(aSnapshot(), aSnapshot({ snapshotId: id('3f2b') })) } })
    expect([several.exit, several.stderr]).toEqual([
      2,
      expect.stringContaining('3f2a is ambiguous: several snapshots of anna-schule match'),
    ])
    const none = await tenantry([...line, '--yes'], {
      answers: { [listed]: page(), 'GET /api/admin/v1/boxes/anna-schule': aBoxDetail() },
    })
    expect([none.exit, none.stderr]).toEqual([3, expect.stringContaining('tenantry snapshots list --slug anna-schule')])
  })

  test('a damaged or never verified snapshot gets a warning', async () => {
    const damaged = await tenantry(line, { answers: { ...restoring, [listed]: page(aSnapshot({ status: 'damaged' })) } })
    expect(damaged.stderr).toContain('the restore may fail')
    const unproven = await tenantry(line, { answers: { ...restoring, [listed]: page(aSnapshot({ lastDrill: null, lastProof: null })) } })
    expect(unproven.stderr).toContain('never drilled')
  })

  test('names the files that the snapshot does not have and that stay', async () => {
    const keptFiles = ['bridges/telegram.yaml', 'notes.txt']
    const ran = await tenantry([...line, '--yes', '--wait'], { answers: { ...restoring, [command]: ended({ keptFiles }) } })
    expect(ran.stdout).toContain('Files that the snapshot does not have are kept: bridges/telegram.yaml, notes.txt')
  })

  test.each([
    ['restored', 0, 'is restored and verified'],
    ['failed', 1, 'is unchanged and verified'],
    ['restore_failed', 1, 'Operator action is required'],
  ])('--wait with outcome %s exits %i', async (outcome, exit, says) => {
    const error = outcome === 'restored' ? null : { code: 'PROBE_FAILED', message: 'the chat server does not answer' }
    const ran = await tenantry([...line, '--yes', '--wait'], { answers: { ...restoring, [command]: ended({ outcome, error }) } })
    expect([ran.exit, ran.stdout]).toEqual([exit, expect.stringContaining(says)])
    expect(ran.stdout).toContain('Pre-restore snapshot: 77aa0000')
    if (error) expect(ran.stdout).toContain('the chat server does not answer [PROBE_FAILED]')
  })

  test.each([
    ['anna-schule', true],
    ['anna', false],
    ['y', false],
  ])('a person types the name of the box: %s restores %j', async (typed, restores) => {
    const restored: unknown[] = []
    const context = {
      yes: false,
      ask: { text: async () => typed },
      notify: () => undefined,
      api: {
        snapshots: {
          listSnapshots: async () => page(aSnapshot()),
          restoreBox: async (call: unknown) => {
            restored.push(call)
            return { commandId: 'cmd_1', snapshotId: id('3f2a91c0'), reopens: [] }
          },
        },
      },
    }
    const input = { slug: 'anna-schule', snapshot: '3f2a', reason: 'because', wait: false }
    const asked = restore.run(context as never, input as never)
    if (restores) await asked
    else await expect(asked).rejects.toThrow(/nothing was changed/)
    expect(restored).toHaveLength(restores ? 1 : 0)
  })

  describe('that would reintroduce a vulnerability', () => {
    const hole = { emergency: 'cve-20260105-abcd2345', cveId: 'CVE-2026-12345', component: 'synapse', fixed: '1.163.2', version: '1.157.1' }
    const says = 'CVE-2026-12345 (synapse 1.157.1'
    const run = async (typed: readonly string[], { yes = false, allowVulnerable = false } = {}) => {
      const [asked, told, answers]: [unknown[], string[], string[]] = [[], [], [...typed]]
      const restoreBox = async ({ body }: { body: { allowHole?: boolean } }) => {
        asked.push(body.allowHole ?? 'unsaid')
        if (!body.allowHole) throw problem('REINTRODUCES_CVE', `snapshot of anna-schule reintroduces ${says})`)
        return { commandId: 'cmd_1', snapshotId: id('3f2a91c0'), reopens: [hole] }
      }
      const context = {
        yes,
        ask: { text: async () => answers.shift() ?? '' },
        notify: (said: string | ((style: Style) => string)) =>
          told.push(
            typeof said === 'string' ? said : said({ now: new Date(at('02:00:00')), colour: false, paint: paintWith(false), width: 100 }),
          ),
        api: { snapshots: { listSnapshots: async () => page(aSnapshot()), restoreBox } },
      }
      const input = { slug: 'anna-schule', snapshot: '3f2a', reason: 'because', allowVulnerable, wait: false }
      const code = await Promise.resolve(restore.run(context as never, input as never)).then(
        () => 'restores',
        (error) => error.code,
      )
      return { code, asked, told: told.join('') }
    }

    test('asks again and names it', async () => {
      const { code, asked, told } = await run(['anna-schule', 'vulnerable'])
      expect([code, asked]).toEqual(['restores', ['unsaid', true]])
      expect(told.match(/reintroduces CVE-2026-12345/g)).toHaveLength(2) // in the prompt and in the remaining work
      expect(told).toContain('fix: tenantry rollouts create --target anna-schule --start')
    })

    test('is refused for any other text, and with --yes alone', async () => {
      expect(await run(['anna-schule', 'anna-schule'])).toMatchObject({ code: 'CANCELLED', asked: ['unsaid'] })
      expect(await run([], { yes: true })).toMatchObject({ code: 'REINTRODUCES_CVE', asked: ['unsaid'] })
    })

    test('is done if a script passes the flag', async () => {
      expect(await run([], { yes: true, allowVulnerable: true })).toMatchObject({ code: 'restores', asked: [true] })
    })
  })

  test('a reason and a snapshot must be given', async () => {
    expect((await tenantry(['snapshots', 'restore', 'anna-schule', '--reason', 'because'])).exit).toBe(2)
    expect((await tenantry(['snapshots', 'restore', 'anna-schule', '--snapshot', '3f2a'])).exit).toBe(2)
  })
})

describe('drill', () => {
  const drilling: Answers = {
    [listed]: page(aSnapshot()),
    'POST /api/admin/v1/boxes/anna-schule/drill': { commandId: 'cmd_1', snapshotId: id('3f2a91c0') },
  }
  const media = { files: 512, sampled: 10, hashed: 7 }
  const counts = { tables: 190, rows: 12_345, media }
  const result = { ok: true, snapshotId: id('3f2a91c0'), durationMs: 70_000, restoreMs: 45_000, ...counts, error: null }

  test('tests the newest snapshot, or the named one', async () => {
    const newest = await tenantry(['snapshots', 'drill', 'anna-schule'], { answers: drilling })
    expect([newest.exit, newest.asked.at(-1)?.body]).toEqual([0, {}])
    const named = await tenantry(['snapshots', 'drill', 'anna-schule', '--snapshot', '3f'], { answers: drilling })
    expect(named.asked.at(-1)?.body).toEqual({ snapshotId: id('3f2a91c0') })
  })

  test('--wait shows what was verified and the estimated restore time', async () => {
    const answers = { ...drilling, [command]: aCommand({ result }) }
    const ran = await tenantry(['snapshots', 'drill', 'anna-schule', '--wait'], { answers })
    expect([ran.exit, ran.stdout]).toEqual([
      0,
      'Verified 3f2a91c0 of anna-schule, 190 tables with 12345 rows match, 10 of 512 media files compared, 7 by checksum. Estimated restore time: 45 s.\n',
    ])
    const json = await tenantry(['snapshots', 'drill', 'anna-schule', '--wait', '--json'], { answers })
    expect(JSON.parse(json.stdout)).toMatchObject({ result: { media } })
  })

  test.each([
    [{ files: 0, sampled: 0, hashed: 0 }, 0, 'rows match, no media in the snapshot.'],
    [{ files: 5, sampled: 0, hashed: 0 }, 1, 'the snapshot has 5 media files, and the agent compared none [MEDIA_UNPROVEN]'],
  ])('--wait says what became of the media: %j', async (compared, exit, text) => {
    const answers = { ...drilling, [command]: aCommand({ result: { ...result, media: compared } }) }
    const ran = await tenantry(['snapshots', 'drill', 'anna-schule', '--wait'], { answers })
    expect([ran.exit, ran.stdout]).toEqual([exit, expect.stringContaining(text)])
  })

  test('that fails exits 1', async () => {
    const error = { code: 'RESTORE_FAILED', message: 'the dump is not the one that was taken' }
    const answers = { ...drilling, [command]: aCommand({ result: { ...result, ok: false, restoreMs: null, error } }) }
    const ran = await tenantry(['snapshots', 'drill', 'anna-schule', '--wait'], { answers })
    expect([ran.exit, ran.stdout]).toEqual([1, expect.stringContaining('the dump is not the one that was taken [RESTORE_FAILED]')])
  })
})

test('boxes show has the newest snapshot and the last verified restore', async () => {
  const show = async (given: object) => {
    const answers = { 'GET /api/admin/v1/boxes/anna-schule': { ...aBoxDetail(), ...given } }
    return (await tenantry(['boxes', 'show', 'anna-schule'], { answers })).stdout
  }
  const lastSnapshot = { snapshotId: id('3f2a91c0'), tier: 'daily', takenAt: at('01:30:00') }
  const proven = await show({ lastSnapshot, lastProvenRestore: { at: at('01:00:00'), durationMs: 45_000, snapshotId: id('aa') } })
  expect(proven).toMatch(/last snapshot +3f2a91c0 \(daily\), 2026-01-05 01:30:00 UTC \(30 min ago\)/)
  expect(proven).toMatch(/last drill +2026-01-05 01:00:00 UTC \(1 h ago\), in 45 s/)
  const bare = await show({ lastSnapshot: null, lastProvenRestore: null })
  expect(bare).toMatch(/last snapshot +none/)
  expect(bare).toMatch(/last drill +never/)
})

test('proofs names the box with the oldest verified restore', async () => {
  const show = async (oldest: object | null, unproven: number) =>
    (await tenantry(['snapshots', 'proofs'], { answers: { [`${listed}/proofs`]: { boxes: 3, unproven, oldest } } })).stdout
  const stdout = await show({ slug: 'anna-schule', at: at('01:00:00') }, 1)
  expect(stdout).toMatch(/never drilled +1/)
  expect(stdout).toMatch(/oldest drill +anna-schule, 2026-01-05 01:00:00 UTC \(1 h ago\)/)
  expect(await show(null, 3)).not.toContain('Oldest')
})

describe('restore of a moment', () => {
  const recovery = '/api/admin/v1/boxes/anna-schule/recovery'
  const plan = { at: at('01:30:00'), baseAt: at('01:00:00'), parts: 3, bytes: 4_100_000 }
  const snapshot = aSnapshot({ snapshotId: id('cc'), tier: 'recovered' })
  const answers = {
    [`GET ${recovery}`]: plan,
    [`POST ${recovery}`]: { commandId: 'cmd_1', at: plan.at },
    [command]: aCommand({ kind: 'tenant-box.recover', status: 'succeeded', result: { snapshot } }),
    [listed]: page(snapshot),
    'POST /api/admin/v1/boxes/anna-schule/restore': { commandId: 'cmd_2', snapshotId: id('cc'), reopens: [] },
  }
  const line = ['snapshots', 'restore', 'anna-schule', '--reason', 'a purge', '--yes']

  test('shows what will be missing, then recovers and restores its snapshot', async () => {
    const ran = await tenantry([...line, '--to', '2026-01-05 01:30'], { answers })
    expect(ran.stderr).toMatch(/Recovers anna-schule as of .*a base of .* and 2 parts of the log \(4\.1 MB\)/)
    expect(ran.stderr).toContain('DATA LOSS: everything of the last 30 min')
    expect(ran.asked.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual([
      'GET recovery',
      'POST recovery',
      'GET cmd_1',
      'GET snapshots',
      'POST restore',
    ])
    expect(ran.asked[1]?.body).toEqual({ to: '2026-01-05T01:30:00.000Z' })
    expect(ran.exit).toBe(0)
  })

  test.each([
    ['confirming', null, 0],
    ['confirming', { code: 'PROBE_FAILED', message: 'the chat server does not answer' }, 1],
    ['stranded', { code: 'PROBE_FAILED', message: 'the chat server does not answer' }, 1],
  ] as const)('on another host exits as a move does that ends %s with error %j', async (state, error, exit) => {
    const box = '/api/admin/v1/boxes/anna-schule'
    const move = aMove({ state, error, commandId: null })
    const moving = {
      [`GET ${box}`]: aBoxDetail({ move }),
      [`POST ${box}/move/plan`]: { ports: { public: 1, platform: 2, probe: 3 }, snapshot: null, losesMs: 0, from: 'host-1', to: 'host-2' },
      [`POST ${box}/move`]: move,
    }
    const ran = await tenantry([...line, '--to', 'latest', '--host', 'host-2'], { answers: { ...answers, ...moving } })
    expect(ran.stderr).toContain('The box is rebuilt on host-2.')
    expect(ran.exit).toBe(exit)
  })

  test.each([
    [['--to', 'yesterday'], /is no moment/],
    [[], /either --snapshot <id> or --to <time>/],
    [['--to', 'latest', '--snapshot', 'cc'], /either --snapshot <id> or --to <time>/],
    [['--to', '2026-01-05 01:30', '--host', 'host-2'], /--host needs --to latest/],
  ])('%j is refused before anything is asked', async (flags, message) => {
    const ran = await tenantry([...line, ...flags], { answers })
    expect(ran.stderr).toMatch(message)
    expect(ran.asked.filter(({ method }) => method === 'POST')).toEqual([])
  })
})
