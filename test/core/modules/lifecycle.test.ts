import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { type InstallationState, type InstallationVerb, installationVerbs, mayRun, transition } from '../../../src/core/modules/index.ts'

const now = '2026-11-02T10:00:00.000Z'
const later = '2026-12-02T10:00:00.000Z'
const state = (status: InstallationState['status'], dataDeleteAt: string | null = null, paused = false): InstallationState => ({
  ...{ status, dataDeleteAt, paused },
})

const states: Record<string, InstallationState | null> = {
  none: null,
  installed: state('installed'),
  active: state('active'),
  paused: state('active', null, true),
  deactivated: state('deactivated', later),
  'deactivated, expired': state('deactivated', now),
  pending_deletion: state('pending_deletion', later),
  'pending_deletion, expired': state('pending_deletion', now),
  deleted: state('deleted'),
}

/** `installed`, `active (paused)`, `unchanged` or the code; then what is emitted. */
function movedBy(from: InstallationState | null, verb: InstallationVerb): string {
  try {
    const { state: to, changed, emits } = transition('attendance', { from, verb, now })
    if (!changed) return [to === from ? 'unchanged' : 'CHANGED', ...emits].join(' ')
    return [to.paused ? 'paused' : to.status, ...(to.dataDeleteAt ? [to.dataDeleteAt.slice(0, 10)] : []), ...emits].join(' ')
  } catch (error) {
    if (!isProblem(error)) throw error
    return error.code
  }
}

const x = 'INVALID_TRANSITION'
const off = '2026-12-02'
const [up, back] = ['module.updated', 'module.rolled_back']
const leaves = `pending_deletion ${off} module.deactivated module.uninstalled`
const table: [string, ...string[]][] = [
  // install, activate, deactivate, pause, resume, delete, cleanup, update, rollback
  [
    ...(['none', 'installed module.installed', 'NOT_FOUND', 'NOT_FOUND', 'NOT_FOUND'] as const),
    ...['NOT_FOUND', 'NOT_FOUND', x, 'NOT_FOUND', 'NOT_FOUND'],
  ],
  [
    ...(['installed', 'ALREADY_INSTALLED', 'active module.activated', x, x, x, `pending_deletion ${off} module.uninstalled`, x] as const),
    ...[`installed ${up}`, `installed ${back}`],
  ],
  [
    'active',
    ...['ALREADY_INSTALLED', 'unchanged', `deactivated ${off} module.deactivated`, 'paused module.paused', 'unchanged'],
    ...[leaves, x, `active ${up}`, `active ${back}`],
  ],
  [
    'paused',
    ...['ALREADY_INSTALLED', 'unchanged', `deactivated ${off} module.deactivated`, 'unchanged', 'active module.resumed'],
    ...[leaves, x, `paused ${up}`, `paused ${back}`],
  ],
  [
    'deactivated',
    ...['ALREADY_INSTALLED', 'active module.activated', 'unchanged', x, x, `pending_deletion ${off} module.uninstalled`, 'unchanged', x, x],
  ],
  [
    'deactivated, expired',
    ...['ALREADY_INSTALLED', 'RETENTION_EXPIRED', 'unchanged', x, x, `pending_deletion ${off} module.uninstalled`],
    ...['deleted module.data_deleted', x, x],
  ],
  ['pending_deletion', 'installed module.installed', x, x, x, x, 'unchanged', 'unchanged', x, x],
  ['pending_deletion, expired', 'installed module.installed', x, x, x, x, 'unchanged', 'deleted module.data_deleted', x, x],
  ['deleted', 'installed module.installed', x, x, x, x, x, x, x, x],
]

test.each(table.flatMap(([name, ...row]) => row.map((result, at) => [name, installationVerbs[at] as InstallationVerb, result] as const)))(
  '%s + %s -> %s',
  (name, verb, result) => {
    expect(movedBy(states[name] ?? null, verb)).toBe(result)
  },
)

test('the table has every state and verb', () => {
  expect(table.map(([name]) => name)).toEqual(Object.keys(states))
  expect(table.every((row) => row.length === installationVerbs.length + 1)).toBe(true)
})

test('no sequence of verbs leaves a time of deletion on a module in use, or runs a paused one', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...installationVerbs), { maxLength: 20 }), (verbs) => {
      let from: InstallationState | null = null
      for (const verb of verbs) {
        try {
          from = transition('attendance', { from, verb, now }).state
        } catch (error) {
          if (!isProblem(error)) throw error
        }
        if (from === null) continue
        const isLeaving = from.status === 'deactivated' || from.status === 'pending_deletion'
        expect(from.dataDeleteAt !== null).toBe(isLeaving)
        expect(from.paused && from.status !== 'active').toBe(false)
        expect(mayRun(from)).toBe(from.status === 'active' && !from.paused)
      }
    }),
  )
})
