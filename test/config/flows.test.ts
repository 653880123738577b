import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { boardFromBundle, checkBoard, FlowBundle, SimulationScript, simulateBoard } from '../../src/core/boards/index.ts'
import { listedRoles, RoleBook } from '../../src/core/users/index.ts'

const config = resolve(import.meta.dirname, '../../config')
const read = (name: string) => boardFromBundle(FlowBundle.parse(parse(readFileSync(resolve(config, 'flows', `${name}.yaml`), 'utf8'))))
const book = RoleBook.parse(parse(readFileSync(resolve(config, 'roles.yaml'), 'utf8')))
const roles = new Set(Object.keys(book.roles))
const unlistedRoles = new Set([...roles].filter((role) => !listedRoles(book).includes(role)))

const play = (name: string, answers: Readonly<Record<string, readonly object[]>>) =>
  simulateBoard(read(name).definition, SimulationScript.parse({ answers }), '2026-11-23T08:00:00.000Z')
const effects = (played: ReturnType<typeof play>) => played.steps.flatMap((step) => step.effects)
const report = (played: ReturnType<typeof play>) => effects(played).find(({ type }) => type === 'report')

const alarm = { data: { incident: 'fire', place: 'Hall', injured: 2 } }
const visit = { data: { visitor: 'Ida Berg', reason: 'Talk', visitDay: '2026-11-24' } }
const absence = (days: number) => ({ data: { student: 'Tom', firstDay: '2026-11-24', days, reason: 'illness' } })
const incident = (severity: string) => ({ data: { summary: 'A window was broken', severity, happenedOn: '2026-11-20' } })
const person = { data: { colleague: 'Ida Berg', work: 'Music', firstDay: '2026-12-01' } }

/** Each way through a flow: answers, and the elements that were left in it, in order. */
const plays: readonly (readonly [flow: string, answers: Readonly<Record<string, readonly object[]>>, ended: readonly string[]])[] = [
  ['crisis-alert', { alarm: [alarm], decide: [{}], secure: [{ after: 'PT2H' }], care: [{}] }, ['alarm', 'decide', 'secure', 'care']],
  ['crisis-alert', { alarm: [{ data: { ...alarm.data, injured: 0 } }], decide: [{}], secure: [{}] }, ['alarm', 'decide', 'secure']],
  [
    'crisis-alert',
    { alarm: [alarm], decide: [{ action: 'reject' }], 'other-measures': [{}], secure: [{ after: 'PT10M' }], care: [{}] },
    ['alarm', 'decide', 'other-measures', 'secure', 'care'],
  ],
  [
    'visitor',
    { announce: [visit], approve: [{}], welcome: [{ data: { arrived: '9:00' } }], leave: [{}] },
    ['announce', 'approve', 'welcome', 'leave'],
  ],
  ['visitor', { announce: [visit], approve: [{ action: 'reject' }] }, ['announce', 'approve']],
  ['visitor', { announce: [visit] }, ['announce', 'approve']],
  ['absence', { notice: [absence(2)], record: [{}] }, ['notice', 'record']],
  ['absence', { notice: [absence(4)], approve: [{}], record: [{}] }, ['notice', 'approve', 'record']],
  ['absence', { notice: [absence(4)], approve: [{ action: 'reject' }], refused: [{}] }, ['notice', 'approve', 'refused']],
  [
    'onboarding',
    { person: [person], keys: [{}], accounts: [{}], mentor: [{ action: 'skip' }], feedback: [{ data: { settled: 'mostly' } }] },
    ['person', 'keys', 'accounts', 'mentor', 'two-weeks', 'feedback'],
  ],
  [
    'incident-review',
    {
      ...{ incident: [incident('severe')], talk: [{}], measures: [{ data: { measures: 'None' } }, { data: { measures: 'Repair' } }] },
      effective: [{ action: 'reject' }, {}],
    },
    ['incident', 'talk', 'measures', 'one-week', 'effective', 'measures', 'one-week', 'effective'],
  ],
  [
    'incident-review',
    { incident: [incident('minor')], measures: [{ data: { measures: 'Repair' } }], effective: [{}] },
    ['incident', 'measures', 'one-week', 'effective'],
  ],
]

test.each(['absence', 'crisis-alert', 'visitor'])('who may start %s fills its first form', (name) => {
  const first = read(name).definition.elements.find(({ kind }) => kind === 'form')
  expect(first?.config).toMatchObject({ assignedTo: 'starter' })
})

describe.each(readdirSync(resolve(config, 'flows')).map((file) => file.replace(/\.yaml$/, '')))('the flow %s', (name) => {
  test('has no fault, also with the roles of the platform', () => {
    expect(checkBoard(read(name).definition, { roles, unlistedRoles, rooms: new Set(), now: new Date(0) })).toEqual([])
  })

  test('is played by a test', () => {
    expect(plays.map(([flow]) => flow)).toContain(name)
  })
})

test.each(plays)('%s is played to its end', (name, answers, ended) => {
  const played = play(name, answers)
  expect(played).toMatchObject({ outcome: 'completed', failure: null, unused: [], waitsAt: [] })
  expect(effects(played).flatMap((effect) => (effect.type === 'closed' ? [effect.elementId] : []))).toEqual(ended)
  for (const effect of effects(played)) if (effect.type === 'report') expect(effect.missing).toEqual([])
})

test.each(plays)('%s is played to its end in a school in which one user does it all', (name, answers, ended) => {
  const byOne = Object.entries(answers).map(([id, all]) => [id, all.map((answer) => ({ ...answer, by: 'head' }))])
  const played = simulateBoard(
    read(name).definition,
    SimulationScript.parse({ answers: Object.fromEntries(byOne), startedBy: 'head' }),
    '2026-11-23T08:00:00.000Z',
  )
  expect(played.steps.flatMap(({ refused }) => refused ?? [])).toEqual([])
  expect(effects(played).flatMap((effect) => (effect.type === 'closed' ? [effect.elementId] : []))).toEqual(ended)
})

test('late measures of a teacher are given by the principal, who decides about them too', () => {
  const late = { by: 'head', data: { measures: 'Repair' }, after: 'P8D' }
  const played = play('incident-review', { incident: [incident('minor')], measures: [late], effective: [{ by: 'head' }] })
  expect(played).toMatchObject({ outcome: 'completed', failure: null })
})

test('the crisis report has every answer, and the late custodian is escalated to the principal', () => {
  const played = play('crisis-alert', plays[0]?.[1] ?? {})
  expect(report(played)).toMatchObject({ markdown: expect.stringContaining('Incident: fire, Hall. Injured people: 2.') })
  expect(effects(played)).toContainEqual({ type: 'escalated', elementId: 'secure', role: 'principal' })
})

test('a visit that nobody approves within a day is declined', () => {
  const played = play('visitor', { announce: [visit] })
  expect(played.endedAt).toBe('2026-11-24T08:00:00.000Z')
  expect(effects(played)).toContainEqual(expect.objectContaining({ type: 'message', elementId: 'declined' }))
})
