import { expect, test } from 'vitest'
import { type ComparedVersion, decisionMail, differenceOf, manifestWarnings } from '../../../src/core/store/index.ts'

const version = (files: Record<string, string>, manifest: object = {}): ComparedVersion => ({
  manifest: { version: '1.0.0', permissions: [], events: { subscribes: [], publishes: [] }, ...manifest },
  files: new Map(Object.entries(files)),
})

test('a difference names files, permissions and events that a version adds, removes or changes', () => {
  const before = version(
    { 'index.js': 'a', 'old.js': 'b', 'same.js': 'c' },
    { permissions: ['spaces:read', 'events:publish'], events: { subscribes: ['space.created'], publishes: [{ name: 'one' }] } },
  )
  const after = version(
    { 'index.js': 'x', 'new.js': 'b', 'same.js': 'c' },
    {
      version: '1.1.0',
      permissions: ['spaces:read', 'files:read'],
      events: { subscribes: ['space.deleted'], publishes: [{ name: 'one' }] },
    },
  )
  expect(differenceOf(before, after)).toEqual({
    previousVersion: '1.0.0',
    files: { added: ['new.js'], removed: ['old.js'], changed: ['index.js'] },
    permissions: { added: ['files:read'], removed: ['events:publish'] },
    subscribes: { added: ['space.deleted'], removed: ['space.created'] },
    publishes: { added: [], removed: [] },
  })
  expect(differenceOf(null, after)).toMatchObject({ previousVersion: null, files: { added: ['index.js', 'new.js', 'same.js'] } })
})

test('the mail of a decision names the next step, and texts of people are escaped in HTML', () => {
  const decision = { developer: '<b>Anna</b>', moduleId: 'attendance', version: '0.1.0', submissionId: 'sub_1' }
  const rejected = decisionMail({ ...decision, action: 'reject', notes: 'line 3: <img src=x>\n& more' })
  expect(rejected.subject).toBe('attendance 0.1.0 was rejected')
  expect(rejected.text).toContain('    line 3: <img src=x>\n    & more')
  expect(rejected.text).toContain('tenantry modules submit attendance-0.1.0.zip')
  expect(rejected.html).toContain('line 3: &lt;img src=x&gt;\n&amp; more')
  expect(rejected.html).toContain('&lt;b&gt;Anna&lt;/b&gt;')
  expect(rejected.html).not.toMatch(/<img|<b>|submit <zip>/)
  const approved = decisionMail({ ...decision, action: 'approve', notes: '' })
  expect(approved.text).toContain('raise "version" in module.json')
  expect(approved.text).not.toContain('Notes of the reviewer')
})

test('a reviewer is warned of data that leaves the platform; a module in the sandbox sends none', () => {
  const declared = {
    permissions: ['files:read', 'events:publish', 'events:subscribe'] as const,
    events: { subscribes: ['space.created'], publishes: [] },
  }
  const dataProcessing = { operator: 'Acme GmbH', country: 'DE', privacyUrl: 'https://acme.example/privacy' }
  expect(manifestWarnings({ type: 'B', ...declared, permissions: [...declared.permissions], dataProcessing })).toEqual([
    'Data of tenants reaches the server of Acme GmbH (DE): files:read',
    'Events of tenants reach the server of Acme GmbH (DE): space.created',
  ])
  expect(manifestWarnings({ type: 'A', ...declared, permissions: [...declared.permissions] })).toEqual([])
})
