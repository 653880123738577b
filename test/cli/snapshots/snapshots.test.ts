import { describe, expect, test } from 'vitest'
import { paintWith, type Style } from '../../../src/cli/kit/index.ts'
import { restore } from '../../../src/cli/snapshots/restore.ts'
import { problem } from '../../../src/core/kit/index.ts'
import type { Snapshot } from '../../../src/core/snapshots/index.ts'
import { aProbe } from '../../support/boxes.ts'
import { type Answers, problemAnswer, tenantry } from '../../support/command-line.ts'
import { aBoxDetail, aBoxRow, aCommand, at } from '../../support/records.ts'

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
  lastDrill: { at: at('01:45:00'), ok: true, durationMs: 70_000, restoreMs: 45_000, error: null },
  lastProof: { at: at('01:45:00'), durationMs: 45_000 },
  ...given,
})
const listed = 'GET /api/admin/v1/snapshots'
const command = 'GET /api/admin/v1/commands/cmd_1'
const page = (...snapshots: Snapshot[]) => ({ snapshots, nextCursor: null })

describe('list', () => {
  test('shows what each box could be brought back to, and why it is kept', async () => {
    const failed = { at: at('01:59:00'), ok: false, durationMs: null, restoreMs: null, error: { code: 'DISK_FULL', message: 'full' } }
    const gone = aSnapshot({ snapshotId: id('bb'), status: 'missing', keptBecause: null, lastDrill: failed, addedBytes: null })
    const ran = await tenantry(['snapshots', 'list'], { answers: { [listed]: page(aSnapshot(), gone) } })
    expect(ran.exit).toBe(0)
    const [head, first, second] = ran.stdout.split('\n')
    expect(head).toMatch(/SNAPSHOT +BOX +TIER +TAKEN +STATUS +PROVEN +KEPT BECAUSE +ADDED +TOOK/)
    expect(first).toMatch(/^3f2a91c0 +anna-schule +daily +30 min ago +present +15 min ago, in 45 s +the newest of the box +4\.1 MB +12 s/)
    expect(second).toMatch(/missing +failed 1 min ago +- +-/)
  })

  test('says of what came back otherwise than in a drill that it is proven, and no more of a drill that failed before', async () => {
    const failed = { at: at('01:40:00'), ok: false, durationMs: null, restoreMs: null, error: null }
    const lastProof = { at: at('01:50:00'), durationMs: null }
    const answers = { [listed]: page(aSnapshot({ lastDrill: null, lastProof }), aSnapshot({ lastDrill: failed, lastProof })) }
    const { stdout } = await tenantry(['snapshots', 'list'], { answers })
    for (const line of stdout.split('\n').slice(1, 3)) expect(line).toMatch(/present +10 min ago +the newest/)
  })

  test('hands filters on, and prints the API’s result with --json', async () => {
    const line = ['snapshots', 'list', '--slug', 'anna-schule', '--tier', 'daily', '--status', 'present', '--json']
    const ran = await tenantry(line, { answers: { [listed]: page(aSnapshot()) } })
    expect(ran.asked[0]?.search).toBe('?slug=anna-schule&tier=daily&status=present')
    expect(JSON.parse(ran.stdout)).toEqual(page(aSnapshot()))
  })

  test.each([80, 120])('keeps within %i columns, and what is not ours loses its control characters', async (columns) => {
    const long = aSnapshot({
      slug: 'a-school-with-a-long-slug-of-40-characters',
      keptBecause: 'needed by\u001b[31m rollout ro_0123456789abcdefghjk',
    })
    const ran = await tenantry(['snapshots', 'list'], { answers: { [listed]: page(aSnapshot(), long) }, columns, env: { NO_COLOR: '1' } })
    for (const line of ran.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
    expect(ran.stdout).not.toContain('\u001b[31m rollout')
  })

  test('says what to type where there is none', async () => {
    const ran = await tenantry(['snapshots', 'list'], { answers: { [listed]: page() } })
    expect(ran.stdout).toContain('tenantry snapshots take')
  })
})

describe('take', () => {
  const taking: Answers = { 'POST /api/admin/v1/boxes/anna-schule/snapshots': { commandId: 'cmd_1' } }

  test('asks and says where to look', async () => {
    const ran = await tenantry(['snapshots', 'take', 'anna-schule'], { answers: taking })
    expect([ran.exit, ran.stdout]).toEqual([0, '1 snapshot is asked for. What comes of it: tenantry snapshots list --slug anna-schule\n'])
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

  test('a box that is refused, or whose agent fails, is the command’s own failure', async () => {
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

  test('of several boxes the others go on, and it exits 1', async () => {
    const held = problemAnswer(409, { code: 'BOX_HELD', message: 'held by a rollout', retryable: false })
    const ran = await tenantry(['snapshots', 'take', 'kita-nord', 'anna-schule', '--wait'], {
      answers: { ...taking, 'POST /api/admin/v1/boxes/kita-nord/snapshots': held, [command]: aCommand() },
    })
    expect([ran.exit, ran.stdout]).toEqual([
      1,
      'kita-nord: held by a rollout\n\n1 snapshot taken: tenantry snapshots list --slug anna-schule\n',
    ])
  })

  test('--all is every managed box, and asked about before', async () => {
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

  test('without a terminal and --yes nothing is asked of the daemon but which snapshot is meant; what would be lost is said', async () => {
    const ran = await tenantry(line, { answers: restoring })
    expect([ran.exit, ran.asked.map(({ method }) => method)]).toEqual([2, ['GET']])
    expect(ran.stderr).toContain('goes back to 3f2a91c0 (daily), taken 2026-01-05 01:30:00 UTC (30 min ago)')
    expect(ran.stderr).toContain('Everything of the last 30 min is lost')
    expect(ran.stderr).toContain('took 45 s')
    expect(ran.stderr).toContain('give --yes')
  })

  test('the beginning of an id is enough, and the whole one is sent', async () => {
    const ran = await tenantry([...line, '--yes', '--json'], { answers: restoring })
    expect(ran.asked[0]?.search).toBe('?slug=anna-schule&id=3f2a&limit=2')
    expect(ran.asked[1]?.body).toEqual({ snapshotId: id('3f2a91c0'), reason: 'the import went wrong' })
    expect([ran.exit, JSON.parse(ran.stdout)]).toEqual([0, { commandId: 'cmd_1', snapshotId: id('3f2a91c0'), reopens: [] }])
  })

  test('a daemon from before it knew of holes is told nothing of them, and need say nothing', async () => {
    const older = { 'POST /api/admin/v1/boxes/anna-schule/restore': { commandId: 'cmd_1', snapshotId: id('3f2a91c0') } }
    expect((await tenantry([...line, '--yes', '--json'], { answers: { ...restoring, ...older } })).exit).toBe(0)
  })

  test('of a box that there is not is not said that it has no snapshots', async () => {
    const noBox = problemAnswer(404, { code: 'NOT_FOUND', message: 'there is no box anna-schule', retryable: false })
    const answers = { [listed]: page(), 'GET /api/admin/v1/boxes/anna-schule': noBox }
    for (const typed of [line, ['snapshots', 'list', '--slug', 'anna-schule']]) {
      const ran = await tenantry([...typed, '--yes'], { answers })
      expect([ran.exit, ran.stdout, ran.stderr]).toEqual([3, '', expect.stringContaining('there is no box anna-schule [NOT_FOUND]')])
    }
    const filtered = ['snapshots', 'list', '--slug', 'anna-schule', '--tier', 'final'] // of one that was erased there may be others
    expect((await tenantry(filtered, { answers })).exit).toBe(0)
  })

  test('a beginning that several have is a usage error; one that none has is not found', async () => {
    const several = await tenantry([...line, '--yes'], { answers: { [listed]: page(aSnapshot(), aSnapshot({ snapshotId: id('3f2b') })) } })
    expect([several.exit, several.stderr]).toEqual([2, expect.stringContaining('several snapshots of anna-schule begin with 3f2a')])
    const none = await tenantry([...line, '--yes'], {
      answers: { [listed]: page(), 'GET /api/admin/v1/boxes/anna-schule': aBoxDetail() },
    })
    expect([none.exit, none.stderr]).toEqual([3, expect.stringContaining('tenantry snapshots list --slug anna-schule')])
  })

  test('a snapshot that is damaged, or was never proven, is said to be', async () => {
    const damaged = await tenantry(line, { answers: { ...restoring, [listed]: page(aSnapshot({ status: 'damaged' })) } })
    expect(damaged.stderr).toContain('may not come back whole')
    const unproven = await tenantry(line, { answers: { ...restoring, [listed]: page(aSnapshot({ lastDrill: null, lastProof: null })) } })
    expect(unproven.stderr).toContain('never proven')
  })

  test.each([
    ['restored', 0, 'runs again, with the data of the snapshot'],
    ['failed', 1, 'is as it was before'],
    ['restore_failed', 1, 'a person must look'],
  ])('--wait tells that it ended %s and exits %i', async (outcome, exit, says) => {
    const error = outcome === 'restored' ? null : { code: 'PROBE_FAILED', message: 'the chat server does not answer' }
    const ran = await tenantry([...line, '--yes', '--wait'], { answers: { ...restoring, [command]: ended({ outcome, error }) } })
    expect([ran.exit, ran.stdout]).toEqual([exit, expect.stringContaining(says)])
    expect(ran.stdout).toContain('What it had before is the snapshot 77aa0000')
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

  describe('that would open a hole again', () => {
    const hole = { emergency: 'cve-20260105-abcd2345', cveId: 'CVE-2026-12345', component: 'synapse', fixed: '1.163.2', version: '1.157.1' }
    const says = 'the hole of CVE-2026-12345 (synapse 1.157.1'
    const run = async (typed: readonly string[], { yes = false, allowHole = false } = {}) => {
      const [asked, told, answers]: [unknown[], string[], string[]] = [[], [], [...typed]]
      const restoreBox = async ({ body }: { body: { allowHole?: boolean } }) => {
        asked.push(body.allowHole ?? 'unsaid')
        if (!body.allowHole) throw problem('REOPENS_HOLE', `anna-schule would have ${says}) again`)
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
      const input = { slug: 'anna-schule', snapshot: '3f2a', reason: 'because', allowHole, wait: false }
      const code = await Promise.resolve(restore.run(context as never, input as never)).then(
        () => 'restores',
        (error) => error.code,
      )
      return { code, asked, told: told.join('') }
    }

    test('asks a person once more, who reads which', async () => {
      const { code, asked, told } = await run(['anna-schule', 'open'])
      expect([code, asked]).toEqual(['restores', ['unsaid', true]])
      expect(told.match(/the hole of CVE-2026-12345/g)).toHaveLength(2) // before it is asked, and what stays to be done
      expect(told).toContain('Once it is back: tenantry rollouts create --target anna-schule --start')
    })

    test('is not done where that person types anything else, nor by --yes alone', async () => {
      expect(await run(['anna-schule', 'anna-schule'])).toMatchObject({ code: 'CANCELLED', asked: ['unsaid'] })
      expect(await run([], { yes: true })).toMatchObject({ code: 'REOPENS_HOLE', asked: ['unsaid'] })
    })

    test('is done where a script says so', async () => {
      expect(await run([], { yes: true, allowHole: true })).toMatchObject({ code: 'restores', asked: [true] })
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
  const result = { ok: true, snapshotId: id('3f2a91c0'), durationMs: 70_000, restoreMs: 45_000, tables: 190, rows: 12_345, error: null }

  test('proves the newest snapshot, or the one that is named', async () => {
    const newest = await tenantry(['snapshots', 'drill', 'anna-schule'], { answers: drilling })
    expect([newest.exit, newest.asked.at(-1)?.body]).toEqual([0, {}])
    const named = await tenantry(['snapshots', 'drill', 'anna-schule', '--snapshot', '3f'], { answers: drilling })
    expect(named.asked.at(-1)?.body).toEqual({ snapshotId: id('3f2a91c0') })
  })

  test('--wait tells what came back and how long a restore would take', async () => {
    const answers = { ...drilling, [command]: aCommand({ result }) }
    const ran = await tenantry(['snapshots', 'drill', 'anna-schule', '--wait'], { answers })
    expect([ran.exit, ran.stdout]).toEqual([
      0,
      '3f2a91c0 of anna-schule came back whole, 190 tables with 12345 rows as they were. A restore would take about 45 s.\n',
    ])
  })

  test('that proves nothing exits 1', async () => {
    const error = { code: 'RESTORE_FAILED', message: 'the dump is not the one that was taken' }
    const answers = { ...drilling, [command]: aCommand({ result: { ...result, ok: false, restoreMs: null, error } }) }
    const ran = await tenantry(['snapshots', 'drill', 'anna-schule', '--wait'], { answers })
    expect([ran.exit, ran.stdout]).toEqual([1, expect.stringContaining('the dump is not the one that was taken [RESTORE_FAILED]')])
  })
})

test('boxes show tells the newest snapshot, and when data was last seen to come back', async () => {
  const show = async (given: object) => {
    const answers = { 'GET /api/admin/v1/boxes/anna-schule': { ...aBoxDetail(), ...given } }
    return (await tenantry(['boxes', 'show', 'anna-schule'], { answers })).stdout
  }
  const lastSnapshot = { snapshotId: id('3f2a91c0'), tier: 'daily', takenAt: at('01:30:00') }
  const proven = await show({ lastSnapshot, lastProvenRestore: { at: at('01:00:00'), durationMs: 45_000, snapshotId: id('aa') } })
  expect(proven).toMatch(/last snapshot +3f2a91c0 \(daily\), 2026-01-05 01:30:00 UTC \(30 min ago\)/)
  expect(proven).toMatch(/proven restore +2026-01-05 01:00:00 UTC \(1 h ago\), in 45 s/)
  const bare = await show({ lastSnapshot: null, lastProvenRestore: null })
  expect(bare).toMatch(/last snapshot +none/)
  expect(bare).toMatch(/proven restore +never/)
})
