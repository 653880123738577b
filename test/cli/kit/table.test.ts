import { describe, expect, test } from 'vitest'
import { boxList } from '../../../src/cli/boxes/boxes.view.ts'
import { hostList } from '../../../src/cli/hosts/hosts.view.ts'
import { ago, type Column, paintWith, type Style, stamp, table } from '../../../src/cli/kit/index.ts'
import { planView } from '../../../src/cli/rollouts/plan.ts'
import { rolloutList, rolloutView } from '../../../src/cli/rollouts/rollout.view.ts'
import { aBoxRow, aHost, anAction, aPlan, aPlannedBox, aRollout, aRolloutDetail, at } from '../../support/records.ts'

const now = new Date(at('02:00:00'))
const style = (width: number, colour = false): Style => ({ width, colour, paint: paintWith(colour), now })
const widest = (text: string) => Math.max(...text.split('\n').map((line) => [...line].length))

type Row = { name: string; count: number; note: string | null }
const columns: Column<Row>[] = [
  { title: 'NAME', value: ({ name }) => name, priority: 1, minWidth: 6 },
  { title: 'COUNT', value: ({ count }) => count, priority: 2, align: 'right' },
  { title: 'NOTE', value: ({ note }) => note, priority: 3, minWidth: 8 },
]
const rows: Row[] = [
  { name: 'kita-nord', count: 7, note: 'a note that is rather long' },
  { name: 'a', count: 1200, note: null },
]

describe('a table', () => {
  test.each([
    [60, ['NAME       COUNT  NOTE', 'kita-nord      7  a note that is rather long', 'a           1200  -']],
    [30, ['NAME       COUNT  NOTE', 'kita-nord      7  a note that…', 'a           1200  -']],
    [20, ['NAME       COUNT', 'kita-nord      7', 'a           1200', 'Not shown: NOTE (-o', 'wide)']],
    [8, ['NAME', 'kita-no…', 'a', 'Not', 'shown:', 'COUNT,', 'NOTE (-o', 'wide)']],
  ])('in %i columns cuts first, then drops columns of low priority and names them', (width, expected) => {
    expect(table(style(width), columns, rows).split('\n')).toEqual(expected)
  })

  test('drops another column before it cuts a name of usual length', () => {
    const slugs = [{ name: 'gesamtschule-mitte', count: 7, note: 'short' }]
    const [head, line] = table(style(30), columns, slugs).split('\n')
    expect([head, line]).toEqual(['NAME                COUNT', 'gesamtschule-mitte      7'])
    expect(table(style(30), columns, [{ ...(slugs[0] as Row), name: 'a'.repeat(40) }]).split('\n')[1]).toContain('a…')
  })

  test('is never cut without a terminal', () => {
    expect(table(style(Number.POSITIVE_INFINITY), columns, rows)).toContain('a note that is rather long')
  })

  test('leaves out an empty column', () => {
    expect(table(style(60), columns, [{ name: 'a', count: 1, note: null }])).not.toContain('NOTE')
  })

  test('strips control characters and line breaks of foreign text', () => {
    const text = table(style(80), columns, [{ name: 'x\u001b[2J\u0007', count: 1, note: 'two\nlines' }])
    expect([text.includes('\u0007'), text.includes('\u001b')]).toEqual([false, false])
    expect(text.split('\n')).toHaveLength(2)
  })

  test('counts wide characters as two', () => {
    const [, first, second] = table(style(60), columns, [
      { name: '学校', count: 1, note: null },
      { name: 'abcd', count: 1, note: null },
    ]).split('\n') as [string, string, string]
    expect(first.indexOf('1')).toBe(second.indexOf('1') - 2)
  })

  test('pads before it paints, so that colour keeps the alignment', () => {
    const painted: Column<Row>[] = [{ title: 'NAME', value: ({ name }) => name, priority: 1, paint: () => 'red' }, ...columns.slice(1)]
    // biome-ignore lint/suspicious/noControlCharactersInRegex: ANSI colours
    expect(table(style(60, true), painted, rows).replace(/\u001b\[\d+m/g, '')).toBe(table(style(60), columns, rows))
  })
})

describe('every list and view keeps within the terminal', () => {
  const long = { message: 'the agent said that something went wrong in a rather long sentence', code: 'UPDATE_FAILED' }
  const actions = [
    anAction('a-school-with-a-long-slug-of-40-characters', { status: 'rolled_back', error: long, durationMs: 90_000 }),
    anAction('kita-nord', { phase: 'free_100' }),
  ]
  const paused = aRolloutDetail(actions, { status: 'paused', previousStatus: 'canary', pauseReason: 'one box of canary failed' })
  const findings = [{ severity: 'warn' as const, code: 'STALE_REPORT' as const, message: 'old' }]
  const texts = (width: number) => ({
    hosts: hostList(
      { hosts: [aHost(), aHost({ name: 'a-host-with-a-long-name.example', status: 'frozen', reason: 'two agents used its key' })] },
      style(width),
    ),
    boxes: boxList(
      { boxes: [aBoxRow(), aBoxRow({ slug: 'a-school-with-a-long-slug-of-40-character', canary: true })], nextCursor: null },
      style(width),
      {},
    ),
    rollouts: rolloutList({ rollouts: [aRollout(), paused], nextCursor: null }, style(width)),
    plan:
      planView(aPlan([aPlannedBox('kita-nord', { findings }), aPlannedBox('hort-sued', { phase: 'pro' })]), style(width)).split(
        '\n\n',
      )[0] ?? '',
    rollout: rolloutView(paused, style(width)).split('\n\n')[1] ?? '',
  })

  test.each([60, 80, 120])('in %i columns', (width) => {
    for (const [name, text] of Object.entries(texts(width))) expect([name, widest(text) <= width]).toEqual([name, true])
  })

  test('lists have their columns in 120 columns', () => {
    const heads = (text: string) => text.split('\n')[0]?.split(/ {2,}/)
    const { hosts, boxes, rollouts, plan, rollout } = texts(120)
    expect(heads(hosts)).toEqual(['HOST', 'STATUS', 'LAST SEEN', 'AGENT', 'ENGINE', 'CPUS', 'FREE DISK', 'REASON'])
    expect(boxes.split('\n\n')[0]).toBe('all 2 chats run')
    expect(heads(boxes.split('\n\n')[1] ?? '')).toEqual([
      'BOX',
      'TIER',
      'HOST',
      'STATE',
      'DRIFT',
      'SYNAPSE',
      'POSTGRES',
      'LAST REPORT',
      'MARKS',
    ])
    expect(heads(rollouts)).toEqual(['ROLLOUT', 'STATUS', 'UPDATED', 'FAILED', 'CREATED', 'CREATED BY', 'KIND', 'REASON'])
    expect(heads(plan)).toEqual(['PHASE', 'BOX', 'HOST', 'FROM → TO', 'FINDINGS', 'OPENS', 'SNAPSHOT', 'DOWNTIME', 'MAX DOWNTIME'])
    expect(heads(rollout)).toEqual(['BOX', 'PHASE', 'STATUS', 'FROM → TO', 'DURATION', 'ERROR'])
  })
})

describe('an empty list names the next command', () => {
  test.each([
    ['hosts', hostList({ hosts: [] }, style(80)), 'tenantry hosts invite'],
    ['boxes', boxList({ boxes: [], nextCursor: null }, style(80), { tier: undefined }), 'tenantry boxes provision'],
    ['boxes behind a filter', boxList({ boxes: [], nextCursor: null }, style(80), { tier: 'pro' }), 'tenantry boxes list'],
    ['rollouts', rolloutList({ rollouts: [], nextCursor: null }, style(80)), 'tenantry rollouts plan'],
  ])('%s', (_, text, next) => {
    expect(text).toContain(next)
  })
})

describe('times', () => {
  test.each([
    [at('01:59:58'), 'just now'],
    [at('01:59:20'), '40 s ago'],
    [at('01:57:00'), '3 min ago'],
    [at('00:00:00'), '2 h ago'],
    ['2026-01-01T02:00:00.000Z', '4 d ago'],
    [at('02:10:00'), 'in 10 min'],
    [null, 'never'],
  ])('%s is %s', (iso, expected) => {
    expect(ago(iso, now)).toBe(expected)
  })

  test('views show the time and its distance', () => {
    expect(stamp(at('01:57:00'), now)).toBe('2026-01-05 01:57:00 UTC (3 min ago)')
  })
})
